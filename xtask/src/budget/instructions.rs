//! Instructions: the benchmark's own server runs under callgrind and gets a fixed number of calls, one after the
//! other, then a larger number in another run. The difference is the calls', without what it takes to start.
//!
//! Only user space is counted, and no machine's own habits: callgrind shows every program the same processor, and
//! libc is told not to use what only some of them have, above all not `rep movsb`, of which every byte would count.

use super::Measured;
use super::drive::{self, Work};
use super::file::Kind;
use crate::{packages, process, workspace};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// glibc 2.33 and later, and the names of before.
const PLAIN_LIBC: &str = "glibc.cpu.hwcaps=-ERMS,-FSRM,-AVX512F,-AVX2,-AVX512F_Usable,-AVX2_Usable";
/// Something hangs if a run takes longer than this; in seconds.
const PATIENCE: &str = "120";

/// Builds the server and counts every work.
pub(super) fn measure() -> Result<Vec<Measured>, String> {
    if !process::succeeds(Command::new("valgrind").arg("--version")) {
        packages::install("counting instructions needs", &["valgrind"])?;
    }
    let program = build()?;
    drive::WORKS.iter().map(|work| instructions(&program, work)).collect()
}

/// The server as it is measured everywhere, without the client: that would be a third more to compile. Nothing of
/// the peers is compiled for it.
fn build() -> Result<PathBuf, String> {
    let bench = workspace::root().join("bench");
    // Not among what the benchmark measures, which has the client.
    let target = bench.join("target/budget");
    let mut command = workspace::cargo();
    command.current_dir(&bench).args(["build", "--release", "--locked", "--no-default-features"]);
    process::run(command.args(["-p", "contexture-bench"]).env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join("release/contexture-bench"))
}

fn instructions(program: &Path, work: &Work) -> Result<Measured, String> {
    let count = |calls| counted(program, work, calls).map_err(|error| format!("{}: {error}", work.name));
    let (few, many) = (count(work.calls / 10)?, count(work.calls)?);
    let exactly = |count| u32::try_from(count).map(f64::from).map_err(|_| "callgrind counted too much");
    let each = exactly(many.saturating_sub(few))? / exactly((work.calls - work.calls / 10) as u64)?;
    println!("{}: {each:.0} instructions", work.name);
    Ok(Measured::new(Kind::Instructions, work.name, each.round()))
}

/// Tries again: between our asking for a free port and the server's taking it, somebody else may have it.
fn counted(program: &Path, work: &Work, calls: usize) -> Result<u64, String> {
    run(program, work, calls).or_else(|error| {
        println!("{}: {error}; once more", work.name);
        run(program, work, calls)
    })
}

/// All instructions of one life of the server.
fn run(program: &Path, work: &Work, calls: usize) -> Result<u64, String> {
    let out = program.with_file_name("budget.callgrind");
    let port = drive::free_port()?;
    let mut command = Command::new("timeout");
    command.args([PATIENCE, "valgrind", "--quiet", "--tool=callgrind"]);
    command.arg(format!("--callgrind-out-file={}", out.display())).arg(program).args(work.arguments(port));
    // The caller's environment is not part of the work.
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("GLIBC_TUNABLES", PLAIN_LIBC);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = Running(command.spawn().map_err(|error| format!("valgrind: {error}"))?);
    work.drive(&mut server.0, port, calls)?;
    server.end()?;
    let text = std::fs::read_to_string(&out).map_err(|error| format!("callgrind wrote nothing: {error}"))?;
    std::fs::remove_file(&out).map_err(|error| error.to_string())?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.ok_or_else(|| "callgrind wrote no total".to_owned())
}

/// The server, which does not outlive us.
struct Running(Child);

impl Running {
    /// Lets it end as it would: at the end of its input, or when it is asked to.
    fn end(mut self) -> Result<(), String> {
        drop(self.0.stdin.take());
        self.terminate();
        let status = self.0.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) }
    }

    /// `timeout` hands it on.
    fn terminate(&self) {
        process::succeeds(Command::new("kill").args(["-TERM", &self.0.id().to_string()]));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.terminate();
            let _ended = self.0.wait();
        }
    }
}
