import sys

print("fitted", *sys.argv[1:])
