"""An application of Celery whose broker is SQS at $ENDPOINT; its results are files in ./results.

    python3 celery_tasks.py COUNT     asks the workers for so many tasks, and checks what they say
"""
import math
import os
import sys
import urllib.parse

from celery import Celery, group

key, secret = (urllib.parse.quote(os.environ[name], safe="") for name in
               ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
address = urllib.parse.urlsplit(os.environ["ENDPOINT"]).netloc

app = Celery("celery_tasks", broker=f"sqs://{key}:{secret}@{address}//",
             backend=f"file://{os.getcwd()}/results")
app.conf.broker_transport_options = {"region": "eu-north-1", "visibility_timeout": 60, "wait_time_seconds": 1}
app.conf.task_acks_late = True


@app.task
def factor(number):
    factors = []
    for candidate in range(2, math.isqrt(number) + 1):
        while number % candidate == 0:
            factors.append(candidate)
            number //= candidate
    return factors + [number] if number > 1 else factors


@app.task(bind=True, max_retries=3)
def stumble(self):
    """Fails the first time; its second try is sent with a countdown."""
    if self.request.retries == 0:
        raise self.retry(countdown=1)
    return os.getpid()


def main():
    count = int(sys.argv[1])
    asked = group(factor.s(n) for n in range(1, count + 1)).apply_async()
    again = stumble.delay()
    for number, factors in enumerate(asked.get(timeout=60, interval=0.1), 1):
        assert math.prod(factors) == number, (number, factors)
    assert again.get(timeout=60, interval=0.1) > 0
    print(f"celery: ok, {count} tasks")


if __name__ == "__main__":
    main()
