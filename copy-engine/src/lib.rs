//! Copies bytes, with a choice of how the destination meets the cache.
