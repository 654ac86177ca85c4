//! Tools: their definition, and the way from raw arguments to a result.
//!
//! Arguments are checked against the schema before the handler runs, and structured results against
//! theirs before they leave. A tool's own failure is a result; it never becomes an error here.

use std::fmt;
use std::sync::Arc;

use contexture_core::http::mirror::{Annotation, annotations};
use serde_json::Value;

use super::Context;
use super::completeness::Needs;
use super::ending::Ending;
use super::extract::{Arguments, Call, Handler, Rejection};
use super::gate::Gate;
use super::operation::{BoxFuture, OperationResult, Reply};
use super::output::IntoToolResult;
use crate::model::{CallToolResult, ErrorObject, Icon, JsonObject, Meta, Tool, ToolAnnotations};
use crate::revision::{ArgumentErrors, Rules};
use crate::schema::{ArgumentChecker, Checker};
use crate::{Error, Result};

type Begin =
    dyn Fn(&Call<'_>, Ending) -> std::result::Result<BoxFuture<OperationResult>, Rejection> + Send + Sync;

/// Begins the definition of a tool.
pub fn tool(name: impl Into<String>) -> ToolBuilder {
    ToolBuilder {
        tool: Tool::new(name, JsonObject::new()),
        given_schema: false,
        run: Run::Inline,
        gate: Gate::default(),
    }
}

/// A tool that still lacks its handler.
#[derive(Debug)]
pub struct ToolBuilder {
    tool: Tool,
    given_schema: bool,
    run: Run,
    gate: Gate,
}

/// Where a handler runs.
#[derive(Debug, Clone, Copy)]
enum Run {
    /// On the connection's task.
    Inline,
    /// On a task of its own.
    Spawned,
}

/// A complete tool.
#[derive(Clone)]
pub struct ToolEntry {
    pub(super) definition: Arc<Tool>,
    begin: Arc<Begin>,
    input: Option<Arc<ArgumentChecker>>,
    output: Option<Arc<Checker>>,
    /// Why a schema does not compile.
    fault: Option<Arc<str>>,
    pub(super) needs: Needs,
    pub(super) gate: Gate,
    /// Arguments that HTTP requests repeat in headers.
    pub(super) mirrors: Arc<[Annotation]>,
}

/// Anything that can be registered as a tool: an entry, or a function that makes one. `#[tool]` turns a
/// function into the latter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "put `#[tool]` on the function, or build a tool of it: `tool(\"name\").handler(…)`"
)]
pub trait IntoTool {
    /// The complete tool.
    fn into_tool(self) -> ToolEntry;
}

impl IntoTool for ToolEntry {
    fn into_tool(self) -> ToolEntry {
        self
    }
}

// Whatever else is registered by mistake should be told about attributes, not about functions of nothing.
#[diagnostic::do_not_recommend]
impl<F: FnOnce() -> T, T: IntoTool> IntoTool for F {
    fn into_tool(self) -> ToolEntry {
        self().into_tool()
    }
}

macro_rules! described {
    ($($(#[$doc:meta])* $field:ident: $kind:ty),+ $(,)?) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $field(mut self, $field: impl Into<$kind>) -> Self {
            self.tool.$field = Some($field.into());
            self
        })+
    };
}

impl ToolBuilder {
    described! {
        /// What it does, for the model.
        description: String,
        /// A name for people.
        title: String,
        /// Pictures of it.
        icons: Vec<Icon>,
        /// Metadata.
        meta: Meta,
        /// The schema of its structured result, where the handler's type does not tell.
        output_schema: JsonObject,
    }

    /// The schema of its arguments, where the handler's type does not tell.
    #[must_use]
    pub fn input_schema(mut self, schema: JsonObject) -> Self {
        self.tool = Tool { input_schema: Tool::new("", schema).input_schema, ..self.tool };
        self.given_schema = true;
        self
    }

    /// Hints about what it does.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.tool.annotations = Some(annotations);
        self
    }

    fn hint(mut self, hint: impl FnOnce(ToolAnnotations) -> ToolAnnotations) -> Self {
        self.tool.annotations = Some(hint(self.tool.annotations.take().unwrap_or_default()));
        self
    }

    /// It changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.hint(|hints| hints.read_only_hint(true))
    }

    /// Whether it may destroy something.
    #[must_use]
    pub fn destructive(self, destructive: bool) -> Self {
        self.hint(|hints| hints.destructive_hint(destructive))
    }

    /// Calling it twice is calling it once.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.hint(|hints| hints.idempotent_hint(true))
    }

    /// Whether it touches the world outside.
    #[must_use]
    pub fn open_world(self, open_world: bool) -> Self {
        self.hint(|hints| hints.open_world_hint(open_world))
    }

    /// A scope that callers must have been granted; all of them, if there are several. Decided before the handler
    /// runs. It limits only callers who come with [scopes](super::Principal::scopes), as those of a
    /// protected server do.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.gate.add(scope.into());
        self
    }

    /// Runs calls on tasks of their own instead of the connection's: for handlers that compute for long
    /// between two awaits.
    #[must_use]
    pub fn spawned(mut self) -> Self {
        self.run = Run::Spawned;
        self
    }

    /// The handler: an async function of extractors.
    pub fn handler<P, R, H>(mut self, handler: H) -> ToolEntry
    where
        H: Handler<P, R>,
        R: IntoToolResult + 'static,
        P: 'static,
    {
        if !self.given_schema
            && let Some(schema) = handler.input_schema()
        {
            self = self.input_schema(schema);
        }
        // What a handler's own type promises need not be checked; what somebody wrote beside it must be.
        let check_output = self.tool.output_schema.is_some();
        if !check_output {
            self.tool.output_schema = R::output_schema();
        }
        let needs = handler.needs().into();
        let begin = move |call: &Call<'_>, ending: Ending| {
            handler.begin(call, move |output: R| ending.end(output.into_tool_result()))
        };
        self.finish(Arc::new(begin), check_output, needs)
    }

    /// A handler that blocks: it runs on a thread where it may.
    pub fn blocking<T, R, H>(self, handler: H) -> ToolEntry
    where
        H: Fn(Context, T) -> R + Send + Sync + 'static,
        T: serde::de::DeserializeOwned + schemars::JsonSchema + Send + 'static,
        R: IntoToolResult + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.handler(move |context: Context, super::Args(arguments): super::Args<T>| {
            let handler = Arc::clone(&handler);
            off_thread(move || handler(context, arguments))
        })
    }

    fn finish(mut self, begin: Arc<Begin>, check_output: bool, needs: Needs) -> ToolEntry {
        strip_title(&mut self.tool.input_schema);
        if let Some(schema) = &mut self.tool.output_schema {
            strip_title(schema);
        }
        let begin: Arc<Begin> = match self.run {
            Run::Inline => begin,
            Run::Spawned => Arc::new(move |call: &Call<'_>, ending| begin(call, ending).map(spawned)),
        };
        let mut fault = None;
        let mut note = |error: Error| fault = Some(Arc::from(error.to_string()));
        let input = ArgumentChecker::new(&self.tool.input_schema).map_err(&mut note).ok();
        let output = self.tool.output_schema.as_ref().filter(|_| check_output);
        let output = output.and_then(|schema| Checker::compile(schema).map_err(&mut note).ok());
        let mirrors = annotations(&self.tool.input_schema)
            .map_err(|fault| note(Error::Misuse(fault.to_string())))
            .unwrap_or_default();
        ToolEntry {
            mirrors: mirrors.into(),
            definition: Arc::new(self.tool),
            begin,
            input: input.map(Arc::new),
            output: output.map(Arc::new),
            fault,
            needs,
            gate: self.gate,
        }
    }
}

/// Runs blocking work on a thread that may be blocked. A panic there is a panic here.
pub(crate) async fn off_thread<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

fn spawned(work: BoxFuture<OperationResult>) -> BoxFuture<OperationResult> {
    /// Ends the task when nobody waits for it.
    struct Guard(tokio::task::JoinHandle<OperationResult>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    let mut task = Guard(tokio::spawn(work));
    Box::pin(async move {
        match (&mut task.0).await {
            Ok(outcome) => outcome,
            Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
            Err(_) => Err(ErrorObject::internal("the work was ended")),
        }
    })
}

/// The name of a Rust type says nothing to a model.
fn strip_title(schema: &mut JsonObject) {
    schema.remove("title");
}

impl ToolEntry {
    /// Refuses definitions that cannot work.
    pub(super) fn validate(&self) -> Result<()> {
        let name = &self.definition.name;
        let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if name.is_empty() || name.len() > 128 || !name.bytes().all(is_name_byte) {
            return Err(Error::Misuse(format!(
                "{name:?} is no name for a tool: 1 to 128 letters, digits, underscores, hyphens and dots"
            )));
        }
        self.definition.validate().map_err(|error| Error::Misuse(error.to_string()))?;
        self.gate.validate(name)?;
        match &self.fault {
            Some(fault) => Err(Error::Misuse(format!("tool {name:?}: {fault}"))),
            None => Ok(()),
        }
    }

    /// Checks the caller and the arguments, and begins the call.
    pub(super) fn call(&self, context: &Context, arguments: Option<&str>) -> BoxFuture<OperationResult> {
        if let Err(error) = self.gate.check(context.principal()) {
            return ready(Err(error));
        }
        let rules = context.rules();
        let arguments = arguments.unwrap_or("{}");
        let begun = self.check_arguments(arguments).and_then(|()| {
            let call = Call { context, arguments: Arguments::Json(arguments), uri: None };
            (self.begin)(&call, self.ending(context))
        });
        match begun {
            Ok(work) => work,
            Err(Rejection::Arguments(fault)) => ready(self.refuse_arguments(&fault, rules)),
            Err(Rejection::Other(error)) => ready(Err(error)),
        }
    }

    fn check_arguments(&self, arguments: &str) -> std::result::Result<(), Rejection> {
        let Some(checker) = &self.input else { return Ok(()) };
        checker.check(arguments, &self.definition.input_schema).map_err(Rejection::Arguments)
    }

    fn refuse_arguments(&self, fault: &str, rules: &Rules) -> OperationResult {
        let message = format!("arguments of {:?} do not fit its schema", self.definition.name);
        match rules.argument_errors {
            ArgumentErrors::Protocol => Err(ErrorObject::invalid_params(message).data(Value::from(fault))),
            ArgumentErrors::Result => Ok(Reply::Tool(CallToolResult::error(format!("{message}: {fault}")))),
        }
    }

    fn ending(&self, context: &Context) -> Ending {
        let structured = self.definition.output_schema.as_ref();
        Ending::new(context, structured.map(|_| (Arc::clone(&self.definition), self.output.clone())))
    }
}

fn ready(result: OperationResult) -> BoxFuture<OperationResult> {
    Box::pin(std::future::ready(result))
}

impl fmt::Debug for ToolEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolEntry({:?})", self.definition.name)
    }
}
