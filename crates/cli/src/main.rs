//! The binary `contexture`.

fn main() {}
