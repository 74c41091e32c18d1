"""Hourglass's tests, told as lessons."""
