//! What the library tells its operator: tracing events, caught.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

/// Every event on this thread, as text, until it is dropped.
pub(crate) struct Events {
    seen: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

impl Events {
    /// Begins to listen, down to this level.
    pub(crate) fn down_to(level: Level) -> Self {
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let catch = Catch { seen: Arc::clone(&seen), level };
        Self { seen, _guard: tracing::subscriber::set_default(catch) }
    }

    /// The events that contain this text.
    pub(crate) fn containing(&self, text: &str) -> Vec<String> {
        let seen = self.seen.lock().expect("not poisoned");
        seen.iter().filter(|event| event.contains(text)).cloned().collect()
    }
}

struct Catch {
    seen: Arc<Mutex<Vec<String>>>,
    level: Level,
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").expect("text");
    }
}

impl Subscriber for Catch {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(format!("{} ", event.metadata().level()));
        event.record(&mut fields);
        self.seen.lock().expect("not poisoned").push(fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
