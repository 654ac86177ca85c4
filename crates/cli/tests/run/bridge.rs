//! One server, from any transport and era to any other.

use contexture::Client;
use contexture::client::{ElicitAnswer, Elicitation};
use contexture::revision::Revision;
use contexture::transport::ChildCommand;
use serde_json::json;

use crate::stage::{BINARY, Gateway, Home, until};

const ERAS: [&[Revision]; 2] = [&Revision::LEGACY, &Revision::MODERN];

fn over_a_pipe(home: &Home, arguments: &[&str]) -> ChildCommand {
    let command = ChildCommand::new(BINARY).args(arguments.iter().copied()).env("HOME", home.path());
    command.current_dir(home.path())
}

/// Names are the server's own, and nobody is asked.
async fn is_the_demo(client: &Client) {
    let tools = client.tools().await.expect("tools");
    assert!(tools.iter().any(|tool| tool.name == "add"), "{tools:?}");
    let reply = client.call("add", json!({ "a": 40, "b": 2 })).await.expect("an answer");
    assert_eq!(reply.structured::<i64>().expect("a number"), 42);
    let read = client.read("demo://readme").await.expect("a resource");
    assert_eq!(read.contents.len(), 1);
}

#[tokio::test]
async fn a_command_becomes_an_address() {
    let home = Home::new();
    for era in ["legacy", "modern", "auto"] {
        let gateway = Gateway::start(
            &home,
            &["bridge", "--listen", "127.0.0.1:0", "--era", era, "--", &home.server(), "demo"],
        );
        for revisions in ERAS {
            is_the_demo(&gateway.client_of(revisions).await).await;
        }
        gateway.terminate();
        assert_eq!(gateway.ended().await.code(), Some(0));
        until("the server is gone", async || home.running() == 0).await;
    }
}

#[tokio::test]
async fn an_address_becomes_a_command() {
    let home = Home::new();
    let demo = Gateway::start(&home, &["demo", "--listen", "127.0.0.1:0"]);
    for era in ["legacy", "modern", "auto"] {
        for revisions in ERAS {
            let bridge = over_a_pipe(&home, &["bridge", &demo.url, "--era", era]);
            let client = Client::builder().revisions(revisions).spawn(bridge).await.expect("a client");
            is_the_demo(&client).await;
            client.close().await;
        }
    }
}

#[tokio::test]
async fn a_command_is_a_command_of_another_era() {
    let home = Home::new();
    let server = home.server();
    for revisions in ERAS {
        let bridge = over_a_pipe(&home, &["bridge", "--era", "legacy", "--", &server, "demo"]);
        let client = Client::builder().revisions(revisions).spawn(bridge).await.expect("a client");
        is_the_demo(&client).await;
        client.close().await;
    }
}

/// Every kind of target: the demo by its name, a server by its name in a configuration, or by the file alone.
#[tokio::test]
async fn whatever_is_a_server_can_be_bridged() {
    let home = Home::new();
    let config = home.config(&json!({ "here": home.demo() }));
    for target in [&["demo"][..], &["here", "--config", &config], &[&config]] {
        let bridge = over_a_pipe(&home, &[&["bridge"], target].concat());
        let client = Client::builder().spawn(bridge).await.expect("a client");
        is_the_demo(&client).await;
        client.close().await;
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_not_taken_for_an_empty_one() {
    let home = Home::new();
    for server in [&["http://127.0.0.1:1/mcp"][..], &["--", "/nowhere/at/all"]] {
        let gateway = Gateway::start(&home, &[&["bridge", "--listen", "127.0.0.1:0"], server].concat());
        for revisions in ERAS {
            let client = gateway.client_of(revisions).await;
            let listed = client.tools().await.expect_err("nothing").to_string();
            let called =
                client.call("add", json!({ "a": 1, "b": 2 })).await.expect_err("nothing").to_string();
            for error in [listed, called] {
                assert!(error.contains("is not available"), "{server:?}: {error}");
            }
        }
    }
}

/// The server has no name here that anybody gave it.
#[tokio::test]
async fn questions_are_the_servers_own_through_any_number_of_bridges() {
    let home = Home::new();
    let near = Gateway::start(&home, &["bridge", "--listen", "127.0.0.1:0", "--", &home.server(), "demo"]);
    for revisions in ERAS {
        let (asked, kept) = std::sync::mpsc::channel();
        let elicitation = Elicitation::new(move |question| {
            let _ = asked.send(question.message().to_owned());
            std::future::ready(ElicitAnswer::accept([("name", "Ada")]))
        });
        let bridge = over_a_pipe(&home, &["bridge", &near.url]);
        let client = Client::builder().revisions(revisions).elicitation(elicitation);
        let client = client.spawn(bridge).await.expect("a client");
        let reply = client.call("greet", json!({ "greeting": "Hello" })).await.expect("an answer");
        assert_eq!(reply.text(), "Hello, Ada!");
        assert_eq!(kept.try_iter().collect::<Vec<_>>(), ["Whom shall I greet?"]);
        client.close().await;
    }
}

#[test]
fn a_bridge_has_one_server() {
    let home = Home::new();
    let wrong: [&[&str]; 4] = [
        &["bridge"],
        &["bridge", "http://127.0.0.1:1/mcp", "--", "server"],
        &["bridge", "--header", "X-Key: 1", "--", "server"],
        &["bridge", "ftp://127.0.0.1/"],
    ];
    for arguments in wrong {
        let run = home.command(arguments).output().expect("the binary runs");
        assert_eq!(run.status.code(), Some(1), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    }
}

/// What the person says about themselves is said to the server, and the bridge's own clients are told nothing of it.
#[test]
fn headers_go_to_the_server() {
    use std::io::Read as _;
    let home = Home::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", server.local_addr().expect("an address"));
    let mut bridge =
        home.command(&["bridge", &url, "--header", "X-Key: hunter2"]).spawn().expect("the binary runs");
    let (mut connection, _) = server.accept().expect("it connects");
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut some = [0; 1024];
        let read = connection.read(&mut some).expect("it writes");
        assert!(read > 0, "it ended");
        head.extend_from_slice(&some[..read]);
    }
    assert!(String::from_utf8_lossy(&head).to_lowercase().contains("x-key: hunter2"), "{head:?}");
    bridge.kill().expect("it is ours");
    let said = bridge.wait_with_output().expect("it ended").stderr;
    assert!(!String::from_utf8_lossy(&said).contains("hunter2"));
}
