//! Sessions that are recorded, had again, and served: nothing may differ.

use super::scene::Scene;
use super::servers::Server;
use super::{Story, Told};

pub const ALL: [Story; 5] =
    [("record", record), ("replay", replay), ("mock", mock), ("test", test), ("diff", diff)];

/// A session with a little of everything that the server has, through the recorder.
fn record(scene: &Scene, server: &Server) -> Told {
    let mut lines = vec!["tools list".to_owned(), format!("call {}", server.call[0])];
    lines.extend(server.resource.map(|[uri, _]| format!("read {uri}")));
    lines.extend(server.prompt.map(|[prompt, _]| format!("prompt {prompt}")));
    lines.extend(server.completion.map(|[typed, _]| format!("complete {typed}")));
    let script = scene.home().join("script");
    std::fs::write(&script, lines.join("\n") + "\n").map_err(|error| error.to_string())?;
    let line = "contexture shell -- contexture record --to session.jsonl -- ./serve <script";
    scene.plays(line, 0, &[server.call[1]])?;
    match std::fs::metadata(scene.home().join("session.jsonl")) {
        Ok(file) if file.len() > 0 => Ok(None),
        _ => Err("there is no transcript".to_owned()),
    }
}

fn replay(scene: &Scene, _: &Server) -> Told {
    scene.plays("contexture replay session.jsonl -o json -- ./serve >out", 0, &[])?;
    scene.plays("contexture replay session.jsonl -- ./serve", 0, &[]).map(|_| None)
}

/// The server's place is taken by its own words.
fn mock(scene: &Scene, server: &Server) -> Told {
    scene.plays("contexture replay session.jsonl -- contexture mock session.jsonl", 0, &[])?;
    let line = format!("contexture call {} -- contexture mock session.jsonl", server.call[0]);
    scene.plays(&line, 0, &[server.call[1]]).map(|_| None)
}

/// Calls of the session, as a test with a report.
fn test(scene: &Scene, _: &Server) -> Told {
    scene.plays("contexture test --from session.jsonl >calls.json", 0, &[])?;
    scene.plays("contexture test calls.json --junit report.xml -- ./serve", 0, &[])?;
    scene.plays("grep -c '<testcase' report.xml", 0, &[]).map(|_| None)
}

/// A server is no different from its own transcript, and from itself.
fn diff(scene: &Scene, _: &Server) -> Told {
    scene.plays("contexture diff ./serve ./serve", 0, &[]).map(|_| None)
}
