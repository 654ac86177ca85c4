//! What is registered without a mark.

use contexture::{Server, tool};

async fn add(a: i64, b: i64) -> i64 {
    a + b
}

async fn nothing() {}

struct Notes;

fn main() {
    let server = Server::new("demo", "1").tool(add).prompt(nothing).resource("demo://a");
    let _ = server.tool(tool("a")).handlers(Notes);
}
