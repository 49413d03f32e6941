//! A large concurrent cache that can be flushed without stalling its readers.
