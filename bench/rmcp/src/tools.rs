//! The tools, once, and the two ways in which rmcp finds the one that is called: in a router that is rebuilt
//! for every call, or in one that is kept in a field.

use bench_program::offer::{self, Blob, Echo, Length, Ordering, Place, STEPS, Weather};
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::schema_for_input;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{ProgressNotificationParam, RequestMetaObject, Tool};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler, tool, tool_handler, tool_router};

/// The handler, with or without a router.
pub struct Tools<R> {
    routing: R,
}

/// The router is rebuilt for every call.
pub struct Rebuilt;

/// The router is kept.
pub struct Kept(ToolRouter<Tools<Kept>>);

#[tool_router]
impl<R: Send + Sync + 'static> Tools<R> {
    #[tool(name = "echo", description = "Sends the message back")]
    async fn echo(&self, Parameters(input): Parameters<Echo>) -> String {
        input.message
    }

    #[tool(name = "steps", description = "Reports ten steps of progress")]
    async fn steps(&self, meta: RequestMetaObject, peer: Peer<RoleServer>) -> Result<String, ErrorData> {
        if let Some(token) = meta.get_progress_token() {
            for step in 1..=STEPS {
                let progress = ProgressNotificationParam::new(token.clone(), step.into());
                let sent = peer.notify_progress(progress.with_total(STEPS.into())).await;
                sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            }
        }
        Ok("done".into())
    }

    #[tool(name = "blob", description = "Sends as many bytes as are asked for")]
    async fn blob(&self, Parameters(input): Parameters<Blob>) -> String {
        offer::blob(input)
    }

    #[tool(name = "length", description = "Says how many bytes the text has")]
    async fn length(&self, Parameters(input): Parameters<Length>) -> String {
        input.text.len().to_string()
    }

    #[tool(name = "weather", description = "Tells the weather of a city")]
    async fn weather(&self, Parameters(place): Parameters<Place>) -> Json<Weather> {
        Json(offer::weather(place))
    }
}

// What `#[tool_router(server_handler)]` writes.
#[tool_handler]
impl ServerHandler for Tools<Rebuilt> {}

#[tool_handler(router = self.routing.0)]
impl ServerHandler for Tools<Kept> {}

impl Tools<Rebuilt> {
    /// The five tools.
    pub fn new() -> Self {
        Self { routing: Rebuilt }
    }
}

impl Tools<Kept> {
    /// The five tools and as many numbered ones.
    pub fn kept(numbered: usize) -> Result<Self, String> {
        let mut router = Self::tool_router();
        for number in 0..numbered {
            let (name, description) = offer::numbered(number);
            let attributes = Tool::new(name, description, schema_for_input::<Ordering>()?);
            router.add_route(ToolRoute::new(attributes, ordered));
        }
        Ok(Self { routing: Kept(router) })
    }
}

async fn ordered(Parameters(_): Parameters<Ordering>) -> String {
    "ordered".into()
}
