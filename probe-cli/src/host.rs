//! What this machine is, read from /proc and /sys below a root that tests can move.
