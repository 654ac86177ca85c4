//! Servers and clients of these tests, and the record of what went between them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use contexture::client::Builder;
use contexture::model::{CreateMessageResult, SamplingContent};
use contexture::revision::Revision;
use contexture::testing::{Recording, Side, Transcript};
use contexture::transport::memory;
use contexture::{Client, Policy, Server};
use contexture_judge::{From, Watch};

/// What hooks were shown. Clones share the list.
pub(crate) struct Shown<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Shown<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Shown<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn add(&self, what: T) {
        self.0.lock().expect("no panic").push(what);
    }

    /// All of it, which is forgotten here.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().expect("no panic"))
    }
}

/// A client of a server in this process, and the record of what they say.
pub(crate) async fn wired(server: Server, client: Builder, revision: Revision) -> (Client, Transcript) {
    let (near, far) = memory(Policy::default().line_bytes);
    let server = server.build().expect("a server that is put together correctly");
    tokio::spawn(async move { server.serve(far).await });
    let transcript = Transcript::new();
    let near = Recording::new(near, Side::Client, transcript.clone());
    (client.revisions(&[revision]).connect(near).await.expect("connected"), transcript)
}

/// The requests of this method that the client has sent.
pub(crate) fn sent(transcript: &Transcript, method: &str) -> Vec<serde_json::Value> {
    let messages = transcript.sent_by(Side::Client).into_iter();
    messages.filter(|message| message["method"] == method).collect()
}

/// Everything that the client has told the server.
pub(crate) fn told(transcript: &Transcript) -> String {
    transcript.sent_by(Side::Client).iter().map(|message| format!("{message}\n")).collect()
}

/// What both sides said keeps to the schema of its revision.
pub(crate) fn judge(transcript: &Transcript) {
    for judged in [From::Client, From::Server] {
        let mut watch = Watch::new(judged);
        for entry in transcript.entries() {
            let from = if entry.from == Side::Server { From::Server } else { From::Client };
            watch.message(from, &entry.value());
        }
        assert!(watch.judged() > 0, "something was said");
    }
}

/// The text of a model's answer.
pub(crate) fn answer_text(answer: &CreateMessageResult) -> String {
    let texts = answer.content.as_slice().iter().filter_map(|block| match block {
        SamplingContent::Text(text) => Some(text.text.clone()),
        _ => None,
    });
    texts.collect()
}

/// An example; they are built beside the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test has a path");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps");
    let path = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "`cargo test -p contexture` builds the examples");
    path
}
