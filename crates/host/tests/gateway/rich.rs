//! A server that does everything, in this process or in one of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use contexture::model::{
    Content, CreateMessageParams, LoggingLevel, PromptMessage, ResourceContents, SamplingContent,
    SamplingMessage,
};
use contexture::revision::{Era, Revision};
use contexture::server::Choices;
use contexture::{Args, Context, Error, Principal, Server, State, prompt, resource, tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Set where this binary is to serve instead of testing: the era.
pub(crate) const ROLE: &str = "CONTEXTURE_TEST_UPSTREAM";
pub(crate) const DOC: &str = "test://doc";

/// In a process of its own this is the server. Among the other tests it makes sure that there is one to run.
#[test]
fn the_server_itself() {
    let Ok(era) = std::env::var(ROLE) else {
        server(Era::Legacy).build().expect("it is put together correctly");
        return;
    };
    let era = if era == "modern" { Era::Modern } else { Era::Legacy };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let served = runtime.block_on(server(era).serve_stdio());
    std::process::exit(i32::from(served.is_err()));
}

pub(crate) fn revisions(era: Era) -> &'static [Revision] {
    match era {
        Era::Legacy => &Revision::LEGACY,
        Era::Modern => &Revision::MODERN,
    }
}

/// What happened to calls.
#[derive(Default)]
pub(crate) struct Count {
    dropped: AtomicUsize,
    begun: AtomicUsize,
}

struct Dropped(Arc<Count>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Id {
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// What people call you.
    name: String,
}

pub(crate) fn server(era: Era) -> Server {
    let server = Server::new("rich", "1").instructions("Be rich.").revisions(revisions(era));
    let server = asking(signalling(server.state(Arc::<Count>::default())));
    server
        .tool(tool("echo").read_only().handler(|Args(Text { text })| async move { text }))
        .tool(tool("fail").handler(|| async { Err::<String, _>("it does not work") }))
        .tool(tool("pid").handler(|| async { std::process::id().to_string() }))
        .tool(tool("who").handler(|principal: Principal| async move { principal.subject().to_owned() }))
        .tool(tool("meta").handler(|context: Context| async move {
            serde_json::to_string(&context.meta()).unwrap_or_default()
        }))
        .tool(
            tool("link").handler(|| async {
                vec![Content::resource(ResourceContents::text("test://item/7", "seven"))]
            }),
        )
        .tool(tool("die").handler(|| async {
            eprintln!("boom: this is the end");
            std::process::exit(7);
            #[allow(unreachable_code)]
            ""
        }))
        .prompt(prompt("greet").handler(|Args(Text { text }): Args<Text>| async move {
            vec![PromptMessage::user(Content::text(format!("Greet {text}")))]
        }))
        .complete_prompt("greet", "text", Choices::new(["ada", "alan", "grace"]))
        .resource(resource(DOC).name("doc").text("the document"))
        .resource(resource("test://item/{id}").name("item").handler(|Args(Id { id }): Args<Id>| async move {
            if id == "none" { Err(Error::NotFound) } else { Ok(format!("item {id}")) }
        }))
}

fn signalling(server: Server) -> Server {
    server
        .tool(tool("steps").handler(|context: Context| async move {
            for step in 1..=3 {
                context.progress_message(f64::from(step), Some(3.0), format!("step {step}"));
                tokio::task::yield_now().await;
            }
            "done"
        }))
        .tool(tool("warn").handler(|context: Context| async move {
            context.logger("rich").log(LoggingLevel::Warning, "careful");
            context.logger("rich").log(LoggingLevel::Debug, "detail");
            "warned"
        }))
        .tool(tool("hang").handler(|count: State<Arc<Count>>| async move {
            let _dropped = Dropped(Arc::clone(&count));
            count.begun.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(3600)).await;
            "never"
        }))
        .tool(tool("counts").handler(|count: State<Arc<Count>>| async move {
            format!("{} {}", count.begun.load(Ordering::SeqCst), count.dropped.load(Ordering::SeqCst))
        }))
        .tool(tool("touch").handler(|context: Context| async move {
            context.registry().resource_updated(DOC);
            "touched"
        }))
        .tool(tool("grow").handler(|context: Context| async move {
            context.registry().add_tool(tool("extra").handler(|| async { "extra" })).map(|()| "grown")
        }))
}

fn asking(server: Server) -> Server {
    server
        .tool(tool("ask").handler(|context: Context| async move {
            let who: Name = context.elicit("who", "Who are you?").await?;
            Ok::<_, Error>(format!("Hello, {}", who.name))
        }))
        .tool(tool("ask_twice").handler(|context: Context| async move {
            let one: Name = context.elicit("one", "First?").await?;
            let two: Name = context.elicit("two", "Second?").await?;
            Ok::<_, Error>(format!("{} and {}", one.name, two.name))
        }))
        .tool(tool("ask_both").handler(|context: Context| async move {
            let (one, two): (Name, Name) =
                tokio::try_join!(context.elicit("one", "First?"), context.elicit("two", "Second?"))?;
            Ok::<_, Error>(format!("{} and {}", one.name, two.name))
        }))
        .tool(tool("model").handler(|context: Context| async move {
            let message = SamplingMessage::user(SamplingContent::text("What is it?"));
            let answer = context.sample("model", CreateMessageParams::new(vec![message], 100)).await?;
            let text = answer.content.as_slice().iter().find_map(|content| match content {
                SamplingContent::Text(text) => Some(text.text.clone()),
                _ => None,
            });
            Ok::<_, Error>(text.unwrap_or_default())
        }))
        .tool(tool("roots").handler(|context: Context| async move {
            let roots = context.roots("roots").await?;
            Ok::<_, Error>(roots.iter().map(|root| root.uri.clone()).collect::<Vec<_>>().join(" "))
        }))
        .prompt(prompt("asking").handler(|context: Context| async move {
            let who: Name = context.elicit("who", "For whom?").await?;
            Ok::<_, Error>(vec![PromptMessage::user(Content::text(format!("For {}", who.name)))])
        }))
        .resource(resource("test://asking").name("asking").handler(|context: Context| async move {
            let who: Name = context.elicit("who", "Who reads?").await?;
            Ok::<_, Error>(format!("read by {}", who.name))
        }))
}
