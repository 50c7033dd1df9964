# What tascaas.sh does, over a store in SQS, DynamoDB and S3, as the door of a hub gives them.
ENGINE=aws
source "$(dirname "$0")/tascaas.sh"
