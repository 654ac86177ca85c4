//! What the library tells its operator: tracing events of one thread, caught.
//!
//! One subscriber for the whole test binary, because whether an event is wanted is remembered for all
//! threads together: subscribers that come and go with tests make each other deaf.

use std::collections::HashMap;
use std::fmt::{Debug, Write as _};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::ThreadId;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// What each listening thread has heard.
type Heard = Option<HashMap<ThreadId, Vec<(Level, String)>>>;

static CAUGHT: Mutex<Heard> = Mutex::new(None);
static INSTALLED: Once = Once::new();

fn caught() -> MutexGuard<'static, Heard> {
    CAUGHT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every event of this library on this thread, until it is dropped.
#[derive(Debug)]
pub struct Events(ThreadId);

impl Events {
    /// Begins to listen.
    pub fn on_this_thread() -> Self {
        INSTALLED.call_once(|| {
            // A test that installs its own cannot use this one.
            tracing::subscriber::set_global_default(Catch).ok();
        });
        let thread = std::thread::current().id();
        caught().get_or_insert_default().insert(thread, Vec::new());
        Self(thread)
    }

    /// The events that contain this text: level, target and fields.
    pub fn containing(&self, text: &str) -> Vec<String> {
        let all = caught();
        let own = all.as_ref().and_then(|threads| threads.get(&self.0)).into_iter().flatten();
        own.filter(|(_, event)| event.contains(text)).map(|(_, event)| event.clone()).collect()
    }

    /// The events of exactly this level.
    pub fn at(&self, level: Level) -> Vec<String> {
        let all = caught();
        let own = all.as_ref().and_then(|threads| threads.get(&self.0)).into_iter().flatten();
        own.filter(|(found, _)| *found == level).map(|(_, event)| event.clone()).collect()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(threads) = caught().as_mut() {
            threads.remove(&self.0);
        }
    }
}

struct Catch;

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").ok();
    }
}

impl Subscriber for Catch {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("contexture")
    }

    fn event(&self, event: &Event<'_>) {
        if let Some(own) = caught().as_mut().and_then(|threads| threads.get_mut(&std::thread::current().id()))
        {
            let metadata = event.metadata();
            let mut fields = Fields(format!("{} {}", metadata.level(), metadata.target()));
            event.record(&mut fields);
            own.push((*metadata.level(), fields.0));
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
