//! Our two programs: built, and the server started and ended.

use super::Side;
use crate::{process, workspace};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Both of them.
///
/// One server serves every scenario of every revision: it speaks them all at one URL, and what one scenario
/// leaves behind must not disturb another.
pub struct Programs {
    server: Child,
    url: String,
    client: String,
}

impl Programs {
    /// Builds both and starts the server, which says where it listens in its first line.
    pub fn start(root: &Path) -> Result<Self, String> {
        process::run(workspace::cargo().args([
            "build",
            "--locked",
            "-p",
            "contexture-conformance",
            "--bins",
        ]))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let program =
            |name: &str| target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let server = Command::new(program("conformance-server"))
            .arg("127.0.0.1:0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("our server could not be started: {error}"))?;
        let client = program("conformance-client").to_string_lossy().into_owned();
        let mut programs = Self { server, url: String::new(), client };
        let mut line = String::new();
        if let Some(stdout) = programs.server.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(|error| format!("our server: {error}"))?;
        }
        programs.url = line.trim().to_owned();
        match programs.url.starts_with("http://") {
            true => Ok(programs),
            false => Err("our server did not say where it listens".to_owned()),
        }
    }

    /// As the suite wants it: a URL, or a command.
    pub fn target(&self, side: Side) -> &str {
        match side {
            Side::Server => &self.url,
            Side::Client => &self.client,
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        // It may have ended by itself; every scenario since has seen that.
        let _ = self.server.kill().and_then(|()| self.server.wait());
    }
}
