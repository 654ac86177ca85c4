//! Clients and servers of other people that `contexture bridge` brings together: each pairing of eras, each transport before
//! it, and servers behind it that its clients could not speak to by themselves.

use super::runs::Run;
use super::{Chosen, Over, PEERS, Peer, how, owned, with_era};

/// A client, its era, how it reaches the bridge, and the server behind it, which is always a child process.
const BRIDGED: [(&str, &str, Over, &str); 8] = [
    ("python-2.3.0", "modern", Over::Stdio, "python-1.30.0"),
    ("python-2.3.0", "modern", Over::Http, "typescript-1.32.2"),
    ("rmcp-3.8.0", "modern", Over::Http, "python-1.30.0"),
    ("rmcp-3.8.0", "modern", Over::Stdio, "python-2.3.0"),
    ("typescript-1.32.2", "legacy", Over::Stdio, "python-2.3.0"),
    ("typescript-1.32.2", "legacy", Over::HttpSse, "rmcp-3.8.0"),
    ("python-1.30.0", "legacy", Over::Http, "rmcp-3.8.0"),
    ("python-1.30.0", "legacy", Over::Http, "typescript-1.32.2"),
];

/// Those of the chosen peers.
pub(super) fn runs(chosen: &Chosen, contexture: &str) -> Vec<Run> {
    let peer = |name: &str| -> Option<&'static Peer> { PEERS.iter().find(|peer| peer.name == name) };
    let wanted = |client: &Peer, over: Over| {
        chosen.peers.iter().any(|peer| peer.name == client.name)
            && chosen.over.is_none_or(|only| only == over)
    };
    let run = |(client, era, over, server): &(&str, &str, Over, &str)| {
        let (client, server) = (peer(client)?, peer(server)?);
        let mut bridge = vec![contexture.to_owned(), "bridge".to_owned(), "--".to_owned()];
        bridge.extend(owned(server.server));
        let name = format!("{} client → bridge → {} server, {}", client.name, server.name, how(era, *over));
        let run = Run {
            name,
            over: *over,
            client: with_era(owned(client.client), era),
            server: bridge,
            ours_serves: true,
        };
        wanted(client, *over).then_some(run)
    };
    BRIDGED.iter().filter_map(run).collect()
}
