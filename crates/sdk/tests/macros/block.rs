//! Methods of an `impl` block.

use std::sync::atomic::{AtomicUsize, Ordering};

use contexture::{Context, Server, handlers, prompt, resource, tool};
use serde_json::json;

use crate::wire::Wire;

struct Counter<T> {
    name: T,
    count: AtomicUsize,
}

#[handlers]
impl<T: AsRef<str> + Send + Sync + 'static> Counter<T> {
    fn new(name: T) -> Self {
        Self { name, count: AtomicUsize::new(0) }
    }

    /// Counts on.
    #[tool(idempotent = false)]
    async fn count(
        &self,
        context: Context,
        /// How far
        #[arg(default = 1)]
        by: usize,
    ) -> usize {
        context.progress(1.0, None);
        self.count.fetch_add(by, Ordering::SeqCst) + by
    }

    /// May block.
    #[contexture::tool]
    fn slowly(&self) -> Result<Vec<usize>, String> {
        std::thread::sleep(std::time::Duration::from_millis(1));
        Ok(vec![self.count.load(Ordering::SeqCst)])
    }

    #[tool]
    async fn selfless(text: String) -> String {
        text.to_uppercase()
    }

    #[prompt]
    async fn cheer(&self, loud: bool) -> String {
        format!("{}{}", self.name.as_ref(), if loud { "!" } else { "." })
    }

    #[resource("counter://{digits}")]
    fn now(&self, digits: usize) -> String {
        format!("{:0digits$}", self.count.load(Ordering::SeqCst))
    }

    #[cfg(any())]
    #[tool]
    async fn absent(&self, missing: Missing) {}
}

#[tokio::test]
async fn methods_share_their_value() {
    let mut wire = Wire::open(Server::new("counter", "1").handlers(Counter::new("go"))).await;
    let listed = wire.listed("tools/list", "tools", "count").await;
    assert_eq!(listed["description"], "Counts on.");
    assert_eq!(listed["inputSchema"]["properties"]["by"]["description"], "How far");

    assert_eq!(wire.call("count", json!({})).await["structuredContent"]["result"], 1);
    assert_eq!(wire.call("count", json!({ "by": 4 })).await["structuredContent"]["result"], 5);
    assert_eq!(wire.call("slowly", json!({})).await["structuredContent"]["result"], json!([5]));
    assert_eq!(wire.call("selfless", json!({ "text": "a" })).await["content"][0]["text"], "A");
    let prompt = json!({ "name": "cheer", "arguments": { "loud": "true" } });
    let answer = wire.ask("prompts/get", prompt).await;
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], "go!");
    let answer = wire.ask("resources/read", json!({ "uri": "counter://3" })).await;
    assert_eq!(answer["result"]["contents"][0]["text"], "005");
}

#[tokio::test]
async fn methods_stay_methods() {
    let counter = Counter::new("stay".to_owned());
    assert_eq!(counter.slowly(), Ok(vec![0]));
    assert_eq!(counter.cheer(false).await, "stay.");
    assert_eq!(Counter::<String>::selfless("b".into()).await, "B");
}
