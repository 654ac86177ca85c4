//! The published JSON Schemas, for the judges of our tests.
//!
//! They are not ours to ship. Beside the checkout or where `MCP_SCHEMA_DIR` points they are used as they are;
//! otherwise the official conformance package is asked for those that it carries.

use crate::workspace::REVISIONS;
use crate::{process, workspace};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where tests look for the schemas.
pub const VARIABLE: &str = "MCP_SCHEMA_DIR";

const PACKAGE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";

/// The revisions whose schema could not be had.
pub fn missing(directory: Option<&Path>) -> Vec<&'static str> {
    let is_there = |date: &str| directory.is_some_and(|path| path.join(format!("{date}.json")).is_file());
    REVISIONS.into_iter().filter(|date| !is_there(date)).collect()
}

/// The directory of the schemas, if there is any.
pub fn directory() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os(VARIABLE) {
        return Some(given.into());
    }
    let beside = workspace::root().join("../shared/schema");
    if beside.is_dir() {
        return Some(beside);
    }
    match unpack() {
        Ok(directory) => Some(directory),
        Err(error) => {
            println!("!! NO SCHEMAS: the conformance package could not be had: {error}");
            None
        }
    }
}

fn unpack() -> Result<PathBuf, String> {
    let directory = workspace::root().join("target/schemas");
    let package = directory.join("package/dist/index.js");
    if !package.is_file() {
        std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        let archive = process::capture(
            Command::new("npm").args(["pack", "--silent", PACKAGE]).current_dir(&directory),
        )?;
        process::run(Command::new("tar").args(["xzf", archive.trim()]).current_dir(&directory))?;
    }
    let script = workspace::root().join("xtask/schemas.mjs");
    process::run(Command::new("node").arg(script).arg(package).arg(&directory))?;
    Ok(directory)
}
