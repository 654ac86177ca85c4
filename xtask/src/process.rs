//! Running other programs: shown, timed, and with a sentence when they fail.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Runs the command with our own standard streams; failure names the command line.
pub fn run(command: &mut Command) -> Result<(), String> {
    let line = show(command);
    println!("$ {line}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}` ended with {status}")),
        Err(error) => Err(format!("`{line}` could not be started: {error}")),
    }
}

/// Like [`run`], and shows each line of its standard output to `hear` too.
pub fn run_heard(command: &mut Command, mut hear: impl FnMut(&str)) -> Result<(), String> {
    let line = show(command);
    println!("$ {line}");
    let unreadable = |error: std::io::Error| format!("`{line}`: {error}");
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{line}` could not be started: {error}"))?;
    if let Some(stdout) = child.stdout.take() {
        for said in BufReader::new(stdout).split(b'\n') {
            let said = said.map_err(unreadable)?;
            let said = String::from_utf8_lossy(&said);
            println!("{said}");
            hear(&said);
        }
    }
    match child.wait().map_err(unreadable)? {
        status if status.success() => Ok(()),
        status => Err(format!("`{line}` ended with {status}")),
    }
}

/// Runs the command and returns its standard output; failure quotes what it complained about.
pub fn capture(command: &mut Command) -> Result<String, String> {
    let line = show(command);
    let output = command.output().map_err(|error| format!("`{line}` could not be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    // cargo's complaint comes before its hints (and before a backtrace, where those are switched on).
    let stderr = String::from_utf8_lossy(&output.stderr);
    let complaint = stderr.lines().skip_while(|line| !line.starts_with("error")).take(3);
    let words: Vec<&str> = complaint.map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(format!("`{line}` ended with {}: {}", output.status, words.join(" ")))
}

/// Whether the command can be run and succeeds; its output is dropped.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Waits for its end, but not for ever: a program that hangs is killed, and that is said.
pub fn end_within(child: &mut Child, patience: Duration) -> Result<ExitStatus, String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if start.elapsed() < patience => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let killed = child.kill().and_then(|()| child.wait());
                let how = killed.map_or_else(|error| error.to_string(), |_| "killed".to_owned());
                return Err(format!("no end after {} s: {how}", patience.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// The command line as one would type it.
fn show(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    std::iter::once(name).chain(args).collect::<Vec<_>>().join(" ")
}
