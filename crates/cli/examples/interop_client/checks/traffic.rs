//! What goes on beside requests and answers: logs, progress, cancellation, questions, changes, the end.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use contexture::Error;
use contexture::model::{Content, LoggingLevel};
use serde_json::json;

use super::{expect, said};
use crate::peer::{Change, GRACE, Peer, ROOTS};
use crate::{Failure, Outcome};

pub(super) async fn logging(peer: &Peer) -> Outcome {
    if peer.is_modern() {
        peer.logged.clear();
        peer.client.call("log_lines", ()).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        expect(peer.logged.arrived(0).await.is_empty(), "silence without an opt-in", "messages")?;
    }
    for level in [LoggingLevel::Warning, LoggingLevel::Debug] {
        peer.client.set_log_level(level).await?;
        peer.logged.clear();
        peer.client.call("log_lines", ()).await?;
        let wanted: Vec<_> = LoggingLevel::ALL.into_iter().filter(|known| *known >= level).collect();
        let heard = peer.logged.arrived(wanted.len()).await;
        let demo = heard.iter().filter(|message| message.logger.as_deref() == Some("demo"));
        let levels: Vec<_> = demo.map(|message| message.level).collect();
        expect(levels == wanted, "one message of each level", &levels)?;
    }
    Ok(if peer.is_modern() { "logLevel of each request" } else { "logging/setLevel" }.to_owned())
}

pub(super) async fn progress(peer: &Peer) -> Outcome {
    countdown(peer, 5).await
}

/// The relay breaks the connection in the middle of the third report of a countdown from seven.
pub(super) async fn resume(peer: &Peer) -> Outcome {
    match peer.not_resumable() {
        Some(why) => Err(Failure::Absent(why.to_owned())),
        None => countdown(peer, 7).await,
    }
}

async fn countdown(peer: &Peer, steps: u32) -> Outcome {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let call = peer
        .client
        .call("countdown", json!({ "steps": steps, "delay_ms": if steps == 7 { 200 } else { 10 } }));
    let reply = call
        .on_progress(move |report| {
            let _ = sender.send((report.progress, report.total, report.message));
        })
        .await?;
    expect(said(&reply)? == "liftoff", "liftoff", &reply)?;
    let mut heard = Vec::new();
    while let Ok(report) = receiver.try_recv() {
        heard.push(json!([report.0, report.1, report.2]));
    }
    let report = |step| json!([f64::from(step), f64::from(steps), format!("{step} of {steps}")]);
    let wanted: Vec<_> = (1..=steps).map(report).collect();
    expect(heard == wanted, "every report, in order", &heard)?;
    Ok(String::new())
}

pub(super) async fn cancel(peer: &Peer) -> Outcome {
    let call = peer.client.call("sleep", json!({ "ms": 60_000 })).start();
    tokio::time::sleep(Duration::from_millis(300)).await;
    call.cancel("no longer wanted");
    let cancelled = call.await;
    expect(matches!(cancelled, Err(Error::Cancelled)), "a cancelled call", &cancelled)?;
    let reply = peer.client.call("echo", json!({ "message": "still here" })).await?;
    expect(said(&reply)? == "still here", "an answer after it", &reply)?;
    Ok("notifications/cancelled".to_owned())
}

pub(super) async fn sampling(peer: &Peer) -> Outcome {
    let question = "How much is six times seven?";
    let reply = peer.client.call("ask_model", json!({ "question": question })).await?;
    let sampled = peer.sampled.arrived(1).await;
    let [asked] = sampled.as_slice() else {
        return Err(Failure::Wrong(format!("expected one question; got {sampled:?}")));
    };
    expect(asked.max_tokens == 100, "maxTokens 100", asked)?;
    expect(format!("{:?}", asked.messages).contains("six times seven"), "the question", asked)?;
    expect(said(&reply)? == "It is 42.", "the model's words", &reply)?;
    Ok(String::new())
}

pub(super) async fn elicitation(peer: &Peer, accept: bool) -> Outcome {
    peer.accepting.store(accept, Ordering::Relaxed);
    peer.elicited.clear();
    let reply = peer.client.call("greet", json!({ "greeting": "Hello" })).await?;
    let forms = peer.elicited.arrived(1).await;
    expect(forms.iter().any(|form| form.property("name").is_some()), "a form with a name", &forms)?;
    if accept {
        expect(said(&reply)? == "Hello, Ada!", "Hello, Ada!", &reply)?;
        return Ok(String::new());
    }
    expect(reply.is_error(), "an error result", &reply)?;
    Ok(said(&reply)?.to_owned())
}

pub(super) async fn roots(peer: &Peer) -> Outcome {
    let reply = peer.client.call("list_roots", ()).await?;
    let uris: Vec<_> = reply.content.iter().filter_map(Content::as_text).collect();
    expect(uris == ROOTS, "both roots", &reply)?;
    Ok(String::new())
}

pub(super) async fn list_changed(peer: &Peer) -> Outcome {
    peer.client.watch_lists().await?;
    for present in [true, false] {
        peer.changes.clear();
        peer.client.call("toggle", ()).await?;
        let heard = peer.changes.arrived(1).await;
        expect(heard.contains(&Change::Tools), "a change of the tools", &heard)?;
        let tools = peer.client.tools().await.map_err(Error::from)?;
        expect(tools.iter().any(|tool| tool.name == "extra") == present, "extra listed, then gone", &tools)?;
        if present {
            let reply = peer.client.call("extra", ()).await?;
            expect(said(&reply)? == "extra", "a call of extra", &reply)?;
        }
    }
    Ok(if peer.is_modern() { "subscriptions/listen" } else { "notifications/tools/list_changed" }.to_owned())
}

pub(super) async fn close(peer: &Peer) -> Outcome {
    let begun = Instant::now();
    peer.client.close().await;
    let took = begun.elapsed().as_millis();
    expect(
        took < GRACE.as_millis(),
        "the server to leave of its own accord",
        format!("its end after {took} ms"),
    )?;
    Ok(format!("{took} ms"))
}
