//! Our programs: built, and those that serve started and ended.

use super::Side;
use crate::{process, workspace};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// All of them.
///
/// One server serves every scenario of every revision: it speaks them all at one URL, and what one scenario
/// leaves behind must not disturb another.
pub struct Programs {
    servers: Vec<Child>,
    url: String,
    issuer: String,
    client: String,
}

impl Programs {
    /// Builds all, and starts the servers that are going to be tested.
    pub fn start(root: &Path, tested: impl Fn(Side) -> bool) -> Result<Self, String> {
        let package = ["build", "--locked", "-p", "contexture-conformance", "--bins"];
        process::run(workspace::cargo().args(package))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let program =
            |name: &str| target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let client = program("conformance-client").to_string_lossy().into_owned();
        let mut programs = Self { servers: Vec::new(), url: String::new(), issuer: String::new(), client };
        if tested(Side::Server) {
            programs.url = programs.serve(&program("conformance-server"))?;
        }
        if tested(Side::Authorization) {
            programs.issuer = programs.serve(&program("conformance-authorization-server"))?;
        }
        Ok(programs)
    }

    /// A server says where it listens in its first line.
    fn serve(&mut self, program: &Path) -> Result<String, String> {
        let mut command = Command::new(program);
        command.arg("127.0.0.1:0").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut server =
            command.spawn().map_err(|error| format!("our server could not be started: {error}"))?;
        let stdout = server.stdout.take();
        self.servers.push(server);
        let mut line = String::new();
        if let Some(stdout) = stdout {
            BufReader::new(stdout).read_line(&mut line).map_err(|error| format!("our server: {error}"))?;
        }
        match line.starts_with("http://") {
            true => Ok(line.trim().to_owned()),
            false => Err("our server did not say where it listens".to_owned()),
        }
    }

    /// As the suite wants it: a URL, or a command.
    pub fn target(&self, side: Side) -> &str {
        match side {
            Side::Server => &self.url,
            Side::Client => &self.client,
            Side::Authorization => &self.issuer,
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // It may have ended by itself; every scenario since has seen that.
            let _ = server.kill().and_then(|()| server.wait());
        }
    }
}
