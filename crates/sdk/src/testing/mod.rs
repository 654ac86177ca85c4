//! For tests of servers and clients: every story in every revision, over real lines, on the record.
//!
//! Nothing here pretends: messages go through the transports and engines that production uses. What is
//! recorded is what was sent, byte for byte.
//!
//! ```
//! # use contexture::{testing, tool, Server};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> contexture::Result<()> {
//! let server = Server::new("six", "1.0.0").tool(tool("six").handler(|| async { 6 }));
//! let client = testing::connect(server).await?;
//! let six: i64 = client.call("six", serde_json::json!({})).await?.structured()?;
//! assert_eq!(six, 6);
//! # Ok(())
//! # }
//! ```

mod peer;
#[cfg(feature = "server")]
mod replay;
#[cfg(all(feature = "server", feature = "client"))]
mod story;
mod transcript;

pub use peer::RawPeer;
#[cfg(all(feature = "server", feature = "client"))]
pub use story::{Story, Wiring, connect, connect_with, stories};
pub use transcript::{Entry, Recording, Side, Transcript};
