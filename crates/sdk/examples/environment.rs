//! A server that its client starts, with a credential from the environment: on stdio nobody logs in.
//!
//! `SHOP_KEY=ada:open-sesame contexture call account -- target/debug/examples/environment`

use contexture::{Error, Server, State, tool};

/// What the shop knows its customers by: a name and a secret.
struct Key(String);

/// Whose account it is.
#[tool(read_only)]
async fn account(State(key): State<Key>) -> String {
    // The shop would be asked with the whole key. The client gets to see the name.
    key.0.split(':').next().unwrap_or_default().to_owned()
}

#[tokio::main]
async fn main() -> contexture::Result<()> {
    let key = std::env::var("SHOP_KEY").map_err(|_| Error::Misuse("set SHOP_KEY to NAME:SECRET".into()))?;
    Server::new("shop", "1.0.0").state(Key(key)).tool(account).serve_stdio().await
}
