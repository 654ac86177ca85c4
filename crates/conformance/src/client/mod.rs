//! The client under test.
