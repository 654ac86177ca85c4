//! Our client against servers that are bad processes: they die, hang, flood, or will not leave.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use contexture::transport::ChildCommand;
use contexture::{Client, Error};
use serde_json::json;

use crate::child::PATIENCE;
use crate::hostile::{client, server, setup, within};

const SHORT: Duration = Duration::from_millis(300);

/// A legacy server in a few lines of shell: shakes hands, then does as told when it is first called.
fn script(deed: &str) -> ChildCommand {
    let script = format!(
        r#"id() {{ printf '%s' "$1" | sed 's/.*"id":\([0-9]*\).*/\1/'; }}
while read -r line; do
  case "$line" in
    *'"initialize"'*) printf '{{"jsonrpc":"2.0","id":%s,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"sh","version":"0"}}}}}}\n' "$(id "$line")" ;;
    *'"server/discover"'*) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$(id "$line")" ;;
    *'"tools/call"'*) {deed} ;;
  esac
done"#
    );
    ChildCommand::new("/bin/sh").args(["-c", &script])
}

async fn spawn(command: ChildCommand) -> Client {
    within(setup().spawn(command)).await.expect("connects")
}

/// Whether a process exists, as something other than a zombie of ours that nobody reaped.
fn exists(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

async fn gone(pid: &str) {
    let end = Instant::now() + PATIENCE;
    while exists(pid) {
        assert!(Instant::now() < end, "process {pid} is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A file for one test to leave something in.
fn note(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("contexture-security-{}-{name}", std::process::id()))
}

#[tokio::test]
async fn banners_and_bytes_before_the_protocol() {
    for role in ["legacy banner", "modern banner", "legacy bom", "modern bom"] {
        let client = client(role).await;
        assert_eq!(within(client.call("fine", ())).await.expect("fine").text(), "fine", "H01 {role}");
        if role.ends_with("banner") {
            assert!(client.dropped().garbage >= 3, "H01 {role}: {:?}", client.dropped());
        }
        client.close().await;
    }
}

#[tokio::test]
async fn garbage_beyond_the_budget() {
    let end = within(setup().spawn(server("legacy flood"))).await;
    assert!(matches!(end, Err(Error::PeerMisbehaved(_) | Error::Closed(_))), "H01: {end:?}");
}

#[tokio::test]
async fn servers_that_die_in_the_middle() {
    for (deed, said) in
        [("exit 0", "0"), ("exit 1", "1"), ("exit 77", "77"), ("kill -KILL $$", "9"), ("kill -SEGV $$", "11")]
    {
        let client = spawn(script(deed)).await;
        let begun = Instant::now();
        let end = within(client.call("x", ())).await;
        let Err(Error::Closed(how)) = end else { panic!("H02 {deed}: {end:?}") };
        assert!(how.contains(said), "H02 {deed}: {how}");
        assert!(begun.elapsed() < Duration::from_secs(5), "H02 {deed}: {:?}", begun.elapsed());
        let again = within(client.call("x", ())).await;
        assert!(matches!(again, Err(Error::Closed(_))), "H02 {deed}: {again:?}");
        assert!(client.is_closed(), "H02 {deed}");
    }
}

#[tokio::test]
async fn last_words_are_kept() {
    let client = spawn(script("echo 'out of cheese' >&2; exit 4")).await;
    let Err(Error::Closed(how)) = within(client.call("x", ())).await else { panic!("H02") };
    assert!(how.contains("out of cheese"), "H02: {how}");
}

#[tokio::test]
async fn servers_that_close_only_their_output() {
    let pid = note("h03");
    let deed = format!("echo $$ > '{}'; exec >&-; while :; do sleep 1; done", pid.display());
    let client = spawn(script(&deed)).await;
    let end = within(client.call("x", ())).await;
    assert!(matches!(end, Err(Error::Closed(_) | Error::Transport(_))), "H03: {end:?}");
    within(client.close()).await;
    gone(std::fs::read_to_string(&pid).expect("it said who it is").trim()).await;
    let _ = std::fs::remove_file(pid);
}

/// Neither the end of its input nor a polite signal moves it; its children must go as well.
#[tokio::test]
async fn servers_that_will_not_leave() {
    for how in ["close", "drop"] {
        let note = note(how);
        let deed = format!(
            "trap '' TERM INT HUP; (trap '' TERM; while :; do sleep 1; done) & echo $! $$ > '{}'; while :; do sleep 1; done",
            note.display()
        );
        let client = spawn(script(&deed)).await;
        let end = within(client.call("x", ()).timeout(SHORT)).await;
        assert!(matches!(end, Err(Error::Timeout(_))), "H04: {end:?}");
        if how == "close" {
            within(client.close()).await;
        }
        drop(client);
        for pid in std::fs::read_to_string(&note).expect("it said who they are").split_whitespace() {
            gone(pid).await;
        }
        let _ = std::fs::remove_file(note);
    }
}

/// A server that does not read: calls time out, the queue has an end, and the runtime goes on.
#[tokio::test]
async fn servers_that_do_not_read() {
    let client = spawn(script("exec sleep 1000")).await;
    let large = "x".repeat(1 << 20);
    let mut ended = Vec::new();
    for _ in 0..40 {
        ended.push(client.call("x", json!({"text": large})).timeout(SHORT).start());
    }
    let beat = Instant::now();
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert!(beat.elapsed() < Duration::from_secs(5), "H06: the runtime stood still for {:?}", beat.elapsed());
    for call in ended {
        let end = within(call).await;
        assert!(matches!(end, Err(Error::Timeout(_) | Error::TooMuch(_))), "H06: {end:?}");
    }
    assert_eq!(client.waiting(), 0, "H06");
    within(client.close()).await;
}

#[tokio::test]
async fn floods_on_standard_error() {
    let client = client("legacy stderr").await;
    assert_eq!(within(client.call("fine", ())).await.expect("fine").text(), "fine", "H07");
    client.close().await;
}

#[tokio::test]
async fn commands_that_cannot_be_started() {
    let here = note("h10");
    std::fs::write(&here, "not a program").expect("a file");
    for command in [
        ChildCommand::new("contexture-no-such-program"),
        ChildCommand::new("/no/such/program"),
        ChildCommand::new(&here),
        ChildCommand::new("/"),
        ChildCommand::new("/bin/sh").current_dir("/no/such/directory"),
        ChildCommand::new(""),
        ChildCommand::new("a\0b"),
    ] {
        let what = format!("{:?}", command.program());
        let end = within(setup().spawn(command)).await;
        assert!(
            matches!(end, Err(Error::Transport(_) | Error::Closed(_) | Error::Misuse(_))),
            "H10 {what}: {end:?}"
        );
    }
    let _ = std::fs::remove_file(here);
}

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let note = note("h11");
    let odd =
        ["; exit 9", "&& true", "$(touch /no)", "`id`", "\"q'", "new\nline", "-n", "*", "", "\\", "%PATH%"];
    let command = ChildCommand::new("/bin/sh")
        .args(["-c", r#"printf '%s\0' "$@" > "$NOTE"; exit 3"#, "sh"])
        .args(odd)
        .env("NOTE", &note);
    let end = within(setup().spawn(command)).await;
    assert!(end.is_err(), "H11");
    let seen = std::fs::read_to_string(&note).expect("it wrote them down");
    let seen: Vec<&str> = seen.split_terminator('\0').collect();
    assert_eq!(seen, odd, "H11");
    let _ = std::fs::remove_file(note);
}

/// The environment holds secrets (here: what cargo put there), and descriptors that are nobody's business.
#[tokio::test]
async fn what_a_child_inherits() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let note = note("h12");
    let command = ChildCommand::new("/bin/sh")
        .args([
            "-c",
            r#"{ env; for fd in /proc/$$/fd/*; do echo "fd $(readlink "$fd")"; done; } > "$NOTE"; exit 3"#,
        ])
        .env("NOTE", &note);
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "the secret that must not be seen");
    let end = within(setup().spawn(command)).await;
    assert!(end.is_err(), "H12");
    let seen = std::fs::read_to_string(&note).expect("it wrote them down");
    assert!(!seen.contains("CARGO_") && seen.contains("PATH="), "H12: {seen}");
    let own = note.display().to_string();
    for line in seen.lines().filter_map(|line| line.strip_prefix("fd ")) {
        let known = line.starts_with("pipe:") || line == own || line == "/dev/null";
        // Standard streams may be sockets or pipes; a listener of ours would be a fourth socket.
        assert!(known || line.starts_with("socket:"), "H14: {line}");
    }
    let sockets = seen.lines().filter(|line| line.starts_with("fd socket:")).count();
    assert!(sockets <= 3, "H14: {seen}");
    drop(listener);
    let _ = std::fs::remove_file(note);
}
