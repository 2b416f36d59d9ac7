"""Torture: runs killed, files spoilt, ledgers raced for, disks filled. `make torture`; never in CI's time."""
