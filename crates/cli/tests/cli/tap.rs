//! A tap on the pipe: this test binary, started as the server, passes every line on to the demo and back, and
//! judges both sides by the schema of their revision.
//!
//! It changes nothing. A message that is found wrong ends it, and with it the run that is being watched.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use contexture_judge::{From, Watch};

use crate::BINARY;

/// Set for the process that is to be the tap: arguments of the demo.
const ROLE: &str = "CONTEXTURE_TAP";

/// What the command line has to say so that the demo, with these arguments, is started behind a tap.
///
/// The test harness writes to standard output, so the shell moves that out of the way first.
pub(crate) fn target(demo: &str) -> Vec<String> {
    let test = std::env::current_exe().expect("this binary has a path").display().to_string();
    let role = format!("{ROLE}={demo}");
    let script = r#"exec "$0" tap::act --exact --nocapture --test-threads=1 3>&1 >/dev/null"#;
    let environment = ["--env", &role, "--env", "MCP_SCHEMA_DIR", "--env", "CONTEXTURE_SCHEMA_COUNTS"];
    let command = ["--", "/bin/sh", "-c", script, &test];
    environment.into_iter().chain(command).map(str::to_owned).collect()
}

/// Follows the connection twice, because a watch judges one side.
struct Watches([Watch; 2]);

impl Watches {
    fn line(&mut self, from: From, line: &str) {
        let message = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.0.iter_mut().for_each(|watch| watch.message(from, &message));
    }
}

/// Not a test, but the door through which the process becomes the tap.
#[test]
fn act() {
    let Ok(arguments) = std::env::var(ROLE) else { return };
    let mut out = OpenOptions::new().append(true).open("/dev/fd/3").expect("the shell opened it");
    let mut command = Command::new(BINARY);
    command.arg("demo").args(arguments.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut demo = command.spawn().expect("the demo starts");
    let mut to_demo = demo.stdin.take().expect("a pipe");
    let from_demo = BufReader::new(demo.stdout.take().expect("a pipe"));
    let watches = Arc::new(Mutex::new(Watches([From::Client, From::Server].map(Watch::new))));
    let heard = Arc::clone(&watches);
    let reader = std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            heard.lock().expect("nothing was wrong").line(From::Client, &line);
            if writeln!(to_demo, "{line}").is_err() {
                return;
            }
        }
    });
    for line in from_demo.lines().map_while(Result::ok) {
        watches.lock().expect("nothing was wrong").line(From::Server, &line);
        if writeln!(out, "{line}").is_err() {
            break;
        }
    }
    reader.join().expect("nothing was wrong");
    demo.wait().expect("the demo ends");
}
