//! One call that is cut off, as the tool, the proxy and the test see it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// One call.
pub(crate) struct Run {
    pub(crate) number: u64,
    /// So many bytes of the answer reach the client.
    pub(crate) cut_at: usize,
    /// Whether the tool goes on only when the client is back.
    pub(crate) waits_for_client: bool,
    stage: watch::Sender<Stage>,
}

/// How far it is.
#[derive(Clone, Default)]
pub(crate) struct Stage {
    /// How often the tool was begun, how often it came to its end, and how often it was over, with or without.
    pub(crate) begun: usize,
    pub(crate) finished: usize,
    pub(crate) ended: usize,
    /// How often the request was sent.
    pub(crate) posted: usize,
    /// The last step that has come as far as the proxy.
    pub(crate) arrived: usize,
    /// What the proxy let through of the answer.
    pub(crate) passed: Vec<u8>,
    pub(crate) is_cut: bool,
    /// How often the client came back for the rest.
    pub(crate) resumed: usize,
    /// The client will not come back.
    pub(crate) is_given_up: bool,
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { begun, finished, ended, posted, arrived, passed, is_cut, resumed, is_given_up } = self;
        write!(
            f,
            "posted {posted}, begun {begun}, finished {finished}, ended {ended}, arrived {arrived}, cut {is_cut}, \
             resumed {resumed}, given up {is_given_up}, passed {} bytes: {}",
            passed.len(),
            String::from_utf8_lossy(passed)
        )
    }
}

impl Run {
    pub(crate) fn note(&self, change: impl FnOnce(&mut Stage)) {
        self.stage.send_modify(change);
    }

    pub(crate) async fn until(&self, is_so: impl FnMut(&Stage) -> bool) {
        self.stage.subscribe().wait_for(is_so).await.expect("the run is there");
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage.borrow().clone()
    }
}

/// All runs, by their numbers.
#[derive(Default)]
pub(crate) struct Board(Mutex<HashMap<u64, Arc<Run>>>);

impl Board {
    /// A new run. Numbers have the same length, so that answers have, too.
    pub(crate) fn begin(&self, cut_at: usize) -> Arc<Run> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = 100_000 + runs.len() as u64;
        let waits_for_client = cut_at % 2 == 1;
        let run = Arc::new(Run { number, cut_at, waits_for_client, stage: watch::Sender::default() });
        runs.insert(number, Arc::clone(&run));
        run
    }

    /// The run that the tool was called for.
    pub(crate) fn run(&self, number: u64) -> Arc<Run> {
        let runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(runs.get(&number).expect("a run of this test"))
    }
}
