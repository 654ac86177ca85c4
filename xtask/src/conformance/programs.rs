//! Our programs: built, and those that serve started and ended.

use super::{Behind, SIDES, Side};
use crate::interop::served::Served;
use crate::{process, workspace};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// All of them.
///
/// One server serves every scenario of every revision: it speaks them all at one URL, and what one scenario
/// leaves behind must not disturb another. The same holds for a gateway and the server behind it.
pub struct Programs {
    servers: Vec<Child>,
    gateways: Vec<Served>,
    /// As the suite wants them: a URL, or a command.
    targets: Vec<(Side, String)>,
}

impl Programs {
    /// Builds all, and starts the servers that are going to be tested.
    pub fn start(root: &Path, tested: impl Fn(Side) -> bool) -> Result<Self, String> {
        let packages = ["-p", "contexture-conformance", "-p", "contexture-cli", "--bins"];
        process::run(workspace::cargo().args(["build", "--locked"]).args(packages))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let program =
            |name: &str| target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let mut programs = Self { servers: Vec::new(), gateways: Vec::new(), targets: Vec::new() };
        for side in SIDES.into_iter().filter(|side| tested(*side)) {
            let server = program("conformance-server");
            let target = match side {
                Side::Client => program("conformance-client").to_string_lossy().into_owned(),
                Side::Server => programs.serve(&server, None)?,
                Side::Authorization => programs.serve(&program("conformance-authorization-server"), None)?,
                Side::Gateway(behind) => {
                    let upstream = programs.serve(&server, behind.era())?;
                    programs.put_before(root, &program("contexture"), side, &upstream)?
                }
            };
            programs.targets.push((side, target));
        }
        Ok(programs)
    }

    /// A server says where it listens in its first line.
    fn serve(&mut self, program: &Path, era: Option<&str>) -> Result<String, String> {
        let mut command = Command::new(program);
        command.arg("127.0.0.1:0").args(era).stdin(Stdio::null()).stdout(Stdio::piped());
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

    /// A gateway with this one server behind it, whose names it leaves as they are.
    fn put_before(&mut self, root: &Path, gateway: &Path, side: Side, url: &str) -> Result<String, String> {
        let home = root.join("target/conformance").join(side.name());
        std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
        let config = home.join("contexture.json");
        let text = serde_json::json!({
            "servers": { "upstream": { "url": url, "prefix": false, "roots": "client" } },
            "policy": { "default": "allow" },
        });
        std::fs::write(&config, text.to_string()).map_err(|error| format!("contexture.json: {error}"))?;
        let words = [gateway.as_os_str(), "run".as_ref(), "--config".as_ref(), config.as_os_str()];
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let served = Served::start(root, &words, &home.join("stderr.txt"))?;
        let url = format!("http://{}/mcp", served.address);
        self.gateways.push(served);
        Ok(url)
    }

    /// What the suite is run on.
    pub fn target(&self, side: Side) -> &str {
        self.targets.iter().find(|(known, _)| *known == side).map_or("", |(_, target)| target)
    }
}

impl Behind {
    /// What the server is told to speak.
    fn era(self) -> Option<&'static str> {
        match self {
            Self::Legacy => Some("legacy"),
            Self::Modern => Some("modern"),
            Self::Both => None,
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
