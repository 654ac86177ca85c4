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
    server: Option<Child>,
    url: String,
    client: String,
}

impl Programs {
    /// Builds both, and starts the server if it is going to be tested.
    pub fn start(root: &Path, serve: bool) -> Result<Self, String> {
        let package = ["build", "--locked", "-p", "contexture-conformance", "--bins"];
        process::run(workspace::cargo().args(package))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let program =
            |name: &str| target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let client = program("conformance-client").to_string_lossy().into_owned();
        let mut programs = Self { server: None, url: String::new(), client };
        if serve {
            programs.serve(&program("conformance-server"))?;
        }
        Ok(programs)
    }

    /// The server says where it listens in its first line.
    fn serve(&mut self, program: &Path) -> Result<(), String> {
        let mut command = Command::new(program);
        command.arg("127.0.0.1:0").stdin(Stdio::null()).stdout(Stdio::piped());
        let started = command.spawn().map_err(|error| format!("our server could not be started: {error}"))?;
        let server = self.server.insert(started);
        let mut line = String::new();
        if let Some(stdout) = server.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(|error| format!("our server: {error}"))?;
        }
        self.url = line.trim().to_owned();
        match self.url.starts_with("http://") {
            true => Ok(()),
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
        if let Some(server) = &mut self.server {
            // It may have ended by itself; every scenario since has seen that.
            let _ = server.kill().and_then(|()| server.wait());
        }
    }
}
