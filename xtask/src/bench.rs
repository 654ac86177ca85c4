//! `cargo xtask bench`: not here yet.

/// Says so.
pub fn run(_args: &[String]) -> Result<(), String> {
    Err("the benchmark is on its own branch".to_owned())
}
