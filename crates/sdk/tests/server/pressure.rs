//! Peers that do not read: what waits for them has a bound, and ends when they read again.

use std::time::Duration;

use contexture::transport::LineTransport;
use contexture::{Policy, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn reading_goes_on_when_the_peer_has_read() {
    const PINGS: usize = 20_000;
    let mut policy = Policy::default();
    policy.unsent_bytes = 16 * 1024;
    let server = Server::new("pressed", "1").policy(policy);
    let (own, other) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(other);
    tokio::spawn(async move { server.serve(LineTransport::new(reader, writer, 1 << 20)).await });
    let (mut reader, mut writer) = tokio::io::split(own);
    let writing = tokio::spawn(async move {
        for id in 0..PINGS {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
            writer.write_all(line.as_bytes()).await.expect("written");
        }
        writer
    });
    // Everything in between is full by then.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let (mut answers, mut buffer) = (0, vec![0; 128 * 1024]);
    while answers < PINGS {
        let read = tokio::time::timeout(Duration::from_secs(10), reader.read(&mut buffer));
        let read = read.await.unwrap_or_else(|_| panic!("silence after {answers} answers")).expect("read");
        answers += buffer[..read].iter().filter(|&&byte| byte == b'\n').count();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(writing.await.expect("all is written"));
}
