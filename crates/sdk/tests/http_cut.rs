//! A legacy client is cut off in the middle of a call, at every byte of the answer, and loses nothing by it.
//!
//! Between a whole client and a whole server stands a proxy that passes on so many bytes of the answer to the call
//! and then resets both connections. If the client has heard of an event by then, it takes the stream up again and
//! sees every message once, in order; if not, the call fails and says so. The tool runs once and to its end
//! whatever happens. Linux only: elsewhere a reset may take back what was already sent.
#![cfg(all(target_os = "linux", feature = "http-client", feature = "http-server"))]

#[path = "http_cut/proxy.rs"]
mod proxy;
#[path = "http_cut/run.rs"]
mod run;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contexture::model::LoggingLevel;
use contexture::revision::Revision;
use contexture::{Args, Client, Context, Error, Server, tool};
use futures_util::future::join_all;
use proxy::Proxy;
use run::{Board, Run};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;
use tokio::time::timeout;

/// What the tool says before it is done.
const STEPS: usize = 5;
/// Clients that are cut off at the same time, in each revision. Most of the time they wait.
const LANES: usize = 64;
/// Answers differ in length by the digits of their ids.
const SPARE: usize = 8;
/// Turns a call that hangs into a failure; nothing is measured by it.
const DEADLINE: Duration = Duration::from_secs(60);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Work {
    run: u64,
}

fn step(run: u64, step: usize) -> String {
    format!("run {run} step {step}")
}

fn note(run: u64, step: usize) -> String {
    format!("run {run} note {step}")
}

fn done(run: u64) -> String {
    format!("run {run} is done")
}

/// Says something, waits until it has arrived or the way is cut, and says more. In one half of the runs it goes on
/// only when the client is back, in the other at once, so that everything is said to nobody.
async fn work(ctx: Context, run: Arc<Run>) -> String {
    run.note(|stage| stage.begun += 1);
    let _ending = Ending(Arc::clone(&run));
    for number in 1..=STEPS {
        ctx.progress_message(number as f64, Some(STEPS as f64), step(run.number, number));
        ctx.log(LoggingLevel::Error, note(run.number, number));
        run.until(|stage| stage.is_cut || stage.arrived >= number).await;
        if run.waits_for_client {
            run.until(|stage| !stage.is_cut || stage.resumed > 0 || stage.is_given_up).await;
        }
    }
    run.note(|stage| stage.finished += 1);
    done(run.number)
}

/// Notes that the tool is over, whether it came to its end or was dropped on the way.
struct Ending(Arc<Run>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.note(|stage| stage.ended += 1);
    }
}

/// A server at work, and its address.
async fn serve(board: &Arc<Board>) -> String {
    let board = Arc::clone(board);
    let server = Server::new("cut", "1.0.0")
        .tool(tool("work").handler(move |ctx: Context, Args(Work { run }): Args<Work>| {
            let run = board.run(run);
            async move { work(ctx, run).await }
        }))
        .into_http()
        .expect("a server")
        // Clients name the port of their proxy.
        .host("127.0.0.1");
    let bound = server.bind("127.0.0.1:0").await.expect("a port");
    let address = bound.address().to_string();
    tokio::spawn(bound.serve_until(std::future::pending()));
    address
}

/// A client behind a proxy of its own, and what it heard.
struct Lane {
    client: Client,
    proxy: Proxy,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Lane {
    async fn open(revision: Revision, server: &str) -> Self {
        let proxy = Proxy::start(server).await;
        let heard = Arc::new(Mutex::new(Vec::new()));
        let logged = Arc::clone(&heard);
        let client = Client::builder()
            .revisions(&[revision])
            .on_log(move |_, message| push(&logged, message.data.as_str().unwrap_or_default()))
            .connect(format!("http://{}/mcp", proxy.address));
        let client = timeout(DEADLINE, client).await.expect("connecting does not hang").expect("connected");
        assert_eq!(client.revision(), revision);
        Self { client, proxy, heard }
    }

    /// One call that is cut off, to the end of both the call and the tool.
    async fn run(&self, run: &Arc<Run>) -> Result<String, Error> {
        let outcome = timeout(DEADLINE, self.call(run)).await;
        outcome.unwrap_or_else(|_| panic!("a run hangs; cut at {}: {:?}", run.cut_at, run.stage()))
    }

    async fn call(&self, run: &Arc<Run>) -> Result<String, Error> {
        self.proxy.expect(run);
        let heard = Arc::clone(&self.heard);
        let call = self
            .client
            .call("work", json!({ "run": run.number }))
            .on_progress(move |progress| push(&heard, progress.message.as_deref().unwrap_or_default()));
        let outcome = call.await.map(|reply| reply.text());
        run.note(|stage| stage.is_given_up = outcome.is_err());
        // Nobody may be there to hear it, and still it is done.
        run.until(|stage| stage.ended > 0).await;
        outcome
    }

    async fn close(&self) {
        timeout(DEADLINE, self.client.close()).await.expect("closing does not hang");
    }

    /// What was heard since the last time.
    fn take_heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn push(heard: &Mutex<Vec<String>>, text: &str) {
    heard.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
}

/// Progress comes to the caller and log messages to the client, each in order; between the two there is none.
fn is_everything(run: u64, heard: &[String]) -> bool {
    let (steps, notes): (Vec<_>, Vec<_>) = heard.iter().cloned().partition(|text| text.contains("step"));
    let all = |say: fn(u64, usize) -> String| (1..=STEPS).map(|number| say(run, number)).collect::<Vec<_>>();
    steps == all(step) && notes == all(note)
}

/// Whether the client could have known where to go on, judged by what the proxy let through.
fn check(run: &Run, outcome: Result<String, Error>, heard: &[String]) -> bool {
    let (at, stage) = (run.cut_at, run.stage());
    assert_eq!((stage.posted, stage.begun), (1, 1), "cut at {at}: sent once and begun once");
    assert_eq!(stage.finished, 1, "cut at {at}: who loses the connection has cancelled nothing");
    let events = proxy::events(&stage.passed);
    if events == 0 {
        assert!(matches!(outcome, Err(Error::Interrupted(_))), "cut at {at}: {outcome:?}");
        assert!(heard.is_empty(), "cut at {at}: {heard:?}");
        assert_eq!(stage.resumed, 0, "cut at {at}");
        return false;
    }
    assert_eq!(outcome.ok(), Some(done(run.number)), "cut at {at}, after {events} events");
    assert!(is_everything(run.number, heard), "cut at {at}, after {events} events: {heard:?}");
    stage.resumed > 0
}

/// The length of an answer that is not cut.
async fn measure(revision: Revision, server: &str, board: &Board) -> usize {
    let lane = Lane::open(revision, server).await;
    let run = board.begin(usize::MAX);
    let outcome = lane.run(&run).await;
    check(&run, outcome, &lane.take_heard());
    lane.close().await;
    run.stage().passed.len()
}

/// Every offset of one revision. Says how many streams were taken up again.
async fn every_offset(revision: Revision, server: &str, board: &Board) -> usize {
    let length = measure(revision, server, board).await;
    let lanes = (0..LANES).map(|first| async move {
        let lane = Lane::open(revision, server).await;
        let mut resumed = 0;
        for at in (first..=length + SPARE).step_by(LANES) {
            let run = board.begin(at);
            let outcome = lane.run(&run).await;
            resumed += usize::from(check(&run, outcome, &lane.take_heard()));
        }
        lane.close().await;
        // What is replayed on the wrong stream would come too late to be seen by its own run.
        assert_eq!(lane.take_heard(), Vec::<String>::new());
        resumed
    });
    let resumed = join_all(lanes).await.into_iter().sum();
    use std::io::Write as _;
    let _ = writeln!(
        std::io::stderr(),
        "http_cut: {revision}: an answer of {length} bytes, cut at each; taken up again {resumed} times"
    );
    resumed
}

/// Each client and its proxy need some descriptors.
fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

// All earlier calls of a client are streams of the same session, kept by the server: were one of their messages
// replayed on another's stream, it would be heard twice.
// covers: HTTP-RESUME-GET, HTTP-RESUME-REPLAY, HTTP-RESUME-NO-CROSS-STREAM, HTTP-DISCONNECT-NOT-CANCEL
// covers: HTTP-SSE-RESUMABLE, HTTP-EVENT-ID-PER-STREAM
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_off_at_every_byte() {
    raise_limit();
    let board = Arc::new(Board::default());
    let server = serve(&board).await;
    // All legacy revisions but the first, which has no streams to take up again.
    let revisions = Revision::LEGACY[1..].iter();
    let resumed = join_all(revisions.map(|revision| every_offset(*revision, &server, &board))).await;
    assert!(resumed.iter().all(|resumed| *resumed > 0), "streams were taken up again: {resumed:?}");
}
