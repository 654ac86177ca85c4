//! What whoever runs the gateway is told of what servers offer.

use contexture::revision::Era;
use contexture::{Server, tool};
use contexture_judge::Events;
use tracing::Level;

use super::support::{Gate, Site, Wire, at, config};

#[tokio::test]
async fn names_that_can_be_taken_for_one_another_are_told_once() {
    let server = Server::new("shop", "1")
        .tool(tool("pay").handler(|| async { "paid" }))
        .tool(tool("Pay").handler(|| async { "paid, too" }));
    let behind = Site::of(server).await;
    let events = Events::on_this_thread();
    let gate = Gate::start(config(vec![at("shop", &behind.url)])).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = gate.client(era, Wire::Pipe).await;
        let tools = client.tools().await.expect("tools");
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            ["shop__pay", "shop__Pay"]
        );
    }
    let told = events.containing("can be taken for pay");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(events.at(Level::WARN), told);
    gate.host.stop().await;
}
