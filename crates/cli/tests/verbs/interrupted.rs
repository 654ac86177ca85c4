//! Ctrl-C: the server hears that a call is cancelled, and what only follows ends in order.

use crate::screen::Screen;
use crate::{Bench, heard};

// covers: CANC-SAME-DIRECTION, CANC-UI
#[test]
fn ctrl_c_cancels_the_call_and_the_server_hears_of_it() {
    let screen = Screen::open();
    crate::scripted::install(screen.home());
    screen.run("contexture call ./server wait");
    screen.shows("halfway to half");
    screen.keys(&["C-c"]);
    assert_eq!(screen.ended(), 130);
    assert!(screen.text().contains("contexture: interrupted"), "{}", screen.text());
    let heard = heard(screen.home(), "notifications/cancelled");
    let call = heard.lines().find(|line| line.contains("tools/call")).expect("the call");
    let call: serde_json::Value = serde_json::from_str(call).expect("JSON");
    let cancelled = heard.lines().find(|line| line.contains("notifications/cancelled")).expect("the notice");
    let cancelled: serde_json::Value = serde_json::from_str(cancelled).expect("JSON");
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
}

#[test]
fn ctrl_c_twice_ends_at_once() {
    let screen = Screen::open();
    // It hears nothing, not even that its input has ended or that it is asked to go.
    let stubborn = "trap '' TERM INT HUP\nwhile read line; do\nid=$(printf '%s' \"$line\" | sed 's/.*\"id\":\\([0-9]*\\).*/\\1/')\n\
        case $line in\n*server/discover*) printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"no\"}}\\n' $id;;\n\
        *initialize*) printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"0\"}}}\\n' $id;;\n\
        *tools/list*) printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]}}\\n' $id;;\n\
        *tools/call*) echo called >&2;;\nesac\ndone\nwhile :; do sleep 1; done\n";
    std::fs::write(screen.home().join("stubborn.sh"), stubborn).expect("it is ours");
    screen.run("contexture call t -v -- sh stubborn.sh");
    screen.shows("called");
    screen.keys(&["C-c"]);
    screen.keys(&["C-c"]);
    assert_eq!(screen.ended(), 130);
    screen.hang_up();
    screen.is_deserted();
}

#[test]
fn what_follows_ends_in_order() {
    let screen = Screen::open();
    crate::scripted::install(screen.home());
    for (line, begun) in [
        ("contexture subscribe ./server x:one", "updated x:one"),
        ("contexture logs ./server --level info", "[alert] {\"free\":0}"),
    ] {
        screen.run(line);
        screen.shows(begun);
        screen.keys(&["C-c"]);
        assert_eq!(screen.ended(), 0, "{line}: {}", screen.text());
    }
}

#[test]
fn a_call_that_is_terminated_is_cancelled_as_well() {
    let bench = Bench::new();
    let mut child = bench.command(&["call", "./server", "wait"]).spawn().expect("starts");
    heard(&bench.folder, "tools/call");
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .is_ok_and(|status| status.success())
    );
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    heard(&bench.folder, "notifications/cancelled");
}
