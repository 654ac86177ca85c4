//! Attribute macros of Contexture.
