//! Rows that look at the client's whole process: memory, descriptors, children. Each runs in a process of
//! its own, because the other tests have memory, descriptors and children, too.

#![cfg(target_os = "linux")]

use std::process::Command;
use std::time::Duration;

use contexture::transport::ChildCommand;
use contexture::{Client, Error};

use crate::hostile::{server, setup, within};

const ALONE: &str = "CONTEXTURE_ALONE";

/// Runs the test again, alone, unless this is that run.
fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let exe = std::env::current_exe().expect("this binary has a path");
    let name = format!("client_alone::{test}");
    let output = Command::new(exe)
        .args([name.as_str(), "--exact", "--nocapture", "--test-threads=1"])
        .env(ALONE, "1")
        .output()
        .expect("the test starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    false
}

fn run(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future);
}

fn status(key: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(key)).expect("the kernel counts it");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

/// Processes whose parent is this one, dead or alive.
fn children() -> usize {
    let me = std::process::id().to_string();
    let all = std::fs::read_dir("/proc").expect("Linux");
    all.flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| {
            stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)) == Some(me.as_str())
        })
        .count()
}

#[test]
fn a_line_without_end() {
    if !alone("a_line_without_end") {
        return;
    }
    run(async {
        let before = status("VmHWM:");
        // A gibibyte before the first newline, then a server like any other.
        let end =
            within(setup().probe_timeout(Duration::from_secs(15)).spawn(server("legacy endless"))).await;
        match end {
            Ok(client) => {
                assert_eq!(within(client.call("fine", ())).await.expect("fine").text(), "fine", "A22")
            }
            Err(error) => {
                let typed = matches!(error, Error::PeerMisbehaved(_) | Error::Closed(_) | Error::TooMuch(_));
                assert!(typed, "A22: {error}");
            }
        }
        let grown = status("VmHWM:") - before;
        assert!(grown < 64 << 10, "A22: {grown} KiB");
    });
}

#[test]
fn servers_started_and_stopped() {
    if !alone("servers_started_and_stopped") {
        return;
    }
    run(async {
        let cycle = || async {
            let command = ChildCommand::new(env!("CARGO_BIN_EXE_contexture")).arg("demo");
            let client = within(setup().spawn(command)).await.expect("connects");
            within(client.ping()).await.expect("it is there");
            within(client.close()).await;
        };
        for _ in 0..5 {
            cycle().await;
        }
        let (open, threads) = (descriptors(), status("Threads:"));
        for _ in 0..100 {
            cycle().await;
        }
        assert!(descriptors() <= open, "H13: {} descriptors, before {open}", descriptors());
        assert!(status("Threads:") <= threads + 1, "H13: {} threads, before {threads}", status("Threads:"));
        assert_eq!(children(), 0, "H13: zombies");
    });
}

#[test]
fn failed_starts_leave_nothing() {
    if !alone("failed_starts_leave_nothing") {
        return;
    }
    run(async {
        let attempt = || async {
            assert!(within(Client::spawn(ChildCommand::new("/no/such/program"))).await.is_err(), "H10");
            let nowhere = ChildCommand::new("/bin/sh").current_dir("/no/such/directory");
            assert!(within(Client::spawn(nowhere)).await.is_err(), "H10");
            assert!(within(Client::spawn(ChildCommand::new("/bin/false"))).await.is_err(), "H10");
        };
        attempt().await;
        let open = descriptors();
        for _ in 0..20 {
            attempt().await;
        }
        assert!(descriptors() <= open, "H10: {} descriptors, before {open}", descriptors());
        assert_eq!(children(), 0, "H10: zombies");
    });
}

/// No descriptors left: an error that says so, and all is well once there are some again.
#[test]
fn no_descriptors_left() {
    if !alone("no_descriptors_left") {
        return;
    }
    run(async {
        let mut hoard = Vec::new();
        // The limit of the process is what it is; it is reached soon enough or not worth reaching.
        for _ in 0..100_000 {
            match std::fs::File::open("/dev/null") {
                Ok(file) => hoard.push(file),
                Err(_) => break,
            }
        }
        if hoard.len() < 100_000 {
            let end = within(Client::spawn(ChildCommand::new("/bin/cat"))).await;
            assert!(matches!(end, Err(Error::Transport(_))), "H10: {end:?}");
        }
        hoard.clear();
        let command = ChildCommand::new(env!("CARGO_BIN_EXE_contexture")).arg("demo");
        within(setup().spawn(command)).await.expect("H10: connects again").close().await;
        assert_eq!(children(), 0, "H10: zombies");
    });
}
