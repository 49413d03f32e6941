//! Numbers, pure: no clock, no file, no randomness that is not handed in.
