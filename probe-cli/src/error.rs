//! Why something could not be done, in terms of what the user can change.
