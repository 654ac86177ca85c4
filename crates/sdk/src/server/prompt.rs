//! Prompts: their definition, and the way from arguments to messages.
//!
//! Arguments are strings. Required ones must be there and unknown ones must not, before the handler runs;
//! what they contain is inserted by the handler and never interpreted here.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Display;
use std::sync::Arc;

use contexture_core::uri;
use futures_util::FutureExt;
use serde_json::Value;

use super::Context;
use super::completeness::Needs;
use super::extract::{Arguments, Call, Handler, Rejection};
use super::gate::Gate;
use super::operation::{BoxFuture, OperationResult, Reply};
use super::output::Failure;
use crate::model::{
    Content, ErrorObject, GetPromptResult, Icon, JsonObject, Meta, Prompt, PromptArgument, PromptMessage,
    ResourceContents,
};
use crate::{Error, Result};

type PromptOutcome = std::result::Result<GetPromptResult, Failure>;
type Begin = dyn Fn(&Call<'_>) -> std::result::Result<BoxFuture<PromptOutcome>, Rejection> + Send + Sync;

/// Begins the definition of a prompt.
pub fn prompt(name: impl Into<String>) -> PromptBuilder {
    PromptBuilder { prompt: Prompt::new(name), gate: Gate::default() }
}

/// A prompt that still lacks its handler.
#[derive(Debug)]
pub struct PromptBuilder {
    prompt: Prompt,
    gate: Gate,
}

/// A complete prompt.
#[derive(Clone)]
pub struct PromptEntry {
    pub(super) definition: Arc<Prompt>,
    begin: Arc<Begin>,
    pub(super) needs: Needs,
    pub(super) gate: Gate,
}

/// Anything that can be registered as a prompt: an entry, or a function that makes one. `#[prompt]` turns a
/// function into the latter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prompt",
    label = "not a prompt",
    note = "put `#[prompt]` on the function, or build a prompt of it: `prompt(\"name\").handler(…)`"
)]
pub trait IntoPrompt {
    /// The complete prompt.
    fn into_prompt(self) -> PromptEntry;
}

impl IntoPrompt for PromptEntry {
    fn into_prompt(self) -> PromptEntry {
        self
    }
}

// Whatever else is registered by mistake should be told about attributes, not about functions of nothing.
#[diagnostic::do_not_recommend]
impl<F: FnOnce() -> T, T: IntoPrompt> IntoPrompt for F {
    fn into_prompt(self) -> PromptEntry {
        self().into_prompt()
    }
}

/// A value that a prompt can return.
#[diagnostic::on_unimplemented(
    message = "a prompt cannot return `{Self}`",
    note = "prompts return text, `PromptMessage`, `Vec<PromptMessage>`, `GetPromptResult`, or `Result` of these"
)]
pub trait IntoPromptResult {
    /// The result for the client.
    ///
    /// # Errors
    /// When the work failed.
    fn into_prompt_result(self) -> PromptOutcome;
}

impl IntoPromptResult for GetPromptResult {
    fn into_prompt_result(self) -> PromptOutcome {
        Ok(self)
    }
}

impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> PromptOutcome {
        Ok(GetPromptResult::new(self))
    }
}

impl IntoPromptResult for PromptMessage {
    fn into_prompt_result(self) -> PromptOutcome {
        Ok(GetPromptResult::new(vec![self]))
    }
}

impl IntoPromptResult for String {
    fn into_prompt_result(self) -> PromptOutcome {
        PromptMessage::user(Content::text(self)).into_prompt_result()
    }
}

impl IntoPromptResult for &str {
    fn into_prompt_result(self) -> PromptOutcome {
        self.to_owned().into_prompt_result()
    }
}

impl<T: IntoPromptResult, E: Display + 'static> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> PromptOutcome {
        self.map_err(Failure::from_error)?.into_prompt_result()
    }
}

impl PromptBuilder {
    /// What it is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.prompt.description = Some(description.into());
        self
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.prompt.title = Some(title.into());
        self
    }

    /// Pictures of it.
    #[must_use]
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.prompt.icons = Some(icons);
        self
    }

    /// Metadata.
    #[must_use]
    pub fn meta(mut self, meta: Meta) -> Self {
        self.prompt.meta = Some(meta);
        self
    }

    /// An argument, where the handler's type does not tell.
    #[must_use]
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.prompt = self.prompt.argument(argument);
        self
    }

    /// A scope that callers must have been granted; all of them, if there are several. Decided before the handler
    /// runs. It limits only callers who come with [scopes](super::Principal::scopes), as those of a
    /// protected server do.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.gate.add(scope.into());
        self
    }

    /// The handler: an async function of extractors. Its arguments are text; numbers and booleans in
    /// `Args<T>` are read from it.
    pub fn handler<P, R, H>(mut self, handler: H) -> PromptEntry
    where
        H: Handler<P, R>,
        R: IntoPromptResult + 'static,
        P: 'static,
    {
        if self.prompt.arguments.is_none() {
            self.prompt.arguments = handler.input_schema().map(|schema| arguments_of(&schema));
        }
        let needs = handler.needs().into();
        let begin = move |call: &Call<'_>| -> std::result::Result<BoxFuture<PromptOutcome>, Rejection> {
            handler.begin(call, IntoPromptResult::into_prompt_result)
        };
        PromptEntry { definition: Arc::new(self.prompt), begin: Arc::new(begin), needs, gate: self.gate }
    }
}

fn arguments_of(schema: &JsonObject) -> Vec<PromptArgument> {
    let required = schema.get("required").and_then(Value::as_array);
    let fields = schema.get("properties").and_then(Value::as_object);
    fields
        .into_iter()
        .flatten()
        .map(|(name, field)| {
            let mut argument = PromptArgument::new(name);
            argument.description = field.get("description").and_then(Value::as_str).map(str::to_owned);
            argument.required = Some(required.is_some_and(|names| names.iter().any(|known| known == name)));
            argument
        })
        .collect()
}

impl PromptEntry {
    pub(super) fn validate(&self) -> Result<()> {
        let mut names: Vec<_> =
            self.definition.arguments.iter().flatten().map(|argument| &argument.name).collect();
        names.sort_unstable();
        if self.definition.name.is_empty() || names.windows(2).any(|pair| pair[0] == pair[1]) {
            let name = &self.definition.name;
            return Err(Error::Misuse(format!("prompt {name:?} needs a name, and a name for each argument")));
        }
        self.gate.validate(&self.definition.name)
    }

    /// Checks the caller and the arguments, and begins.
    pub(super) fn get(
        &self,
        context: &Context,
        arguments: &BTreeMap<String, String>,
    ) -> BoxFuture<OperationResult> {
        if let Err(error) = self.gate.check(context.principal()) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let rules = context.rules();
        let begun = self.check(arguments).and_then(|()| {
            (self.begin)(&Call { context, arguments: Arguments::Strings(arguments), uri: None })
        });
        match begun {
            Ok(work) => Box::pin(work.map(move |outcome| {
                let mut result = outcome.map_err(|failure| failure.into_protocol_error(rules))?;
                result.messages.iter_mut().try_for_each(complete)?;
                Ok(Reply::Prompt(result))
            })),
            Err(Rejection::Arguments(fault)) => {
                let message = format!("arguments of prompt {:?}: {fault}", self.definition.name);
                Box::pin(std::future::ready(Err(ErrorObject::invalid_params(message))))
            }
            Err(Rejection::Other(error)) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn check(&self, given: &BTreeMap<String, String>) -> std::result::Result<(), Rejection> {
        let declared = || self.definition.arguments.iter().flatten();
        if let Some(missing) =
            declared().find(|known| known.is_required() && !given.contains_key(&known.name))
        {
            return Err(Rejection::Arguments(format!("{:?} is required", missing.name)));
        }
        match given.keys().find(|name| declared().all(|known| known.name != **name)) {
            Some(unknown) => Err(Rejection::Arguments(format!("there is no argument {unknown:?}"))),
            None => Ok(()),
        }
    }
}

/// Prompts must name the media type of what they hold, and the URI of what they embed. What lacks them is
/// our fault and does not leave.
fn complete(message: &mut PromptMessage) -> std::result::Result<(), ErrorObject> {
    let unusable = |what: &str| Err(ErrorObject::internal(format!("the prompt holds {what}")));
    let mime_type = match &mut message.content {
        Content::Image(image) => &image.mime_type,
        Content::Audio(audio) => &audio.mime_type,
        Content::Resource(embedded) => {
            if uri::check(embedded.resource.uri()).is_err() {
                return unusable("a resource whose URI is none");
            }
            let (mime_type, fallback) = match &mut embedded.resource {
                ResourceContents::Text(text) => (&mut text.mime_type, "text/plain"),
                ResourceContents::Blob(blob) => (&mut blob.mime_type, "application/octet-stream"),
            };
            mime_type.get_or_insert_with(|| fallback.to_owned())
        }
        _ => return Ok(()),
    };
    if is_media_type(mime_type) { Ok(()) } else { unusable("content whose media type is none") }
}

/// `type/subtype`, with whatever parameters.
fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim_end();
    let is_token = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic());
    essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

impl fmt::Debug for PromptEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PromptEntry({:?})", self.definition.name)
    }
}
