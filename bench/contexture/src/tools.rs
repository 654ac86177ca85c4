//! The tools that every server of the benchmark has, each as the front page writes tools.

use contexture::{Args, Context, Server, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reports of one call of `steps`.
const STEPS: u8 = 10;

/// A server with the five tools, and with `more` of those that only fill the list.
pub fn server(more: usize) -> Server {
    let server = Server::new("bench", "1.0.0").tool(echo).tool(steps).tool(blob).tool(length).tool(weather);
    (0..more).fold(server, |server, number| {
        let ordering = |_: Args<Ordering>| async { "ordered" };
        server.tool(
            tool(format!("tool_{number}")).description("Takes an order for a customer.").handler(ordering),
        )
    })
}

/// Says back what it is told.
#[tool]
async fn echo(message: String) -> String {
    message
}

/// Takes ten steps and reports each.
#[tool]
async fn steps(context: Context) -> &'static str {
    for step in 1..=STEPS {
        context.progress(step.into(), Some(STEPS.into()));
    }
    "done"
}

/// Gives as many bytes as are asked for.
#[tool]
async fn blob(size: usize) -> String {
    "x".repeat(size)
}

/// Counts the bytes of a text.
#[tool]
async fn length(text: String) -> String {
    text.len().to_string()
}

/// Tells the weather of a city.
#[tool]
async fn weather(city: String) -> Weather {
    let hours = (0..24).map(|hour| Hour { hour, celsius: 20.5 }).collect();
    Weather { city, celsius: 21.5, wind: Wind { speed: 3.5, from: "NW".into() }, hours }
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    celsius: f64,
    wind: Wind,
    hours: Vec<Hour>,
}

#[derive(Serialize, JsonSchema)]
struct Wind {
    speed: f64,
    from: String,
}

#[derive(Serialize, JsonSchema)]
struct Hour {
    hour: i64,
    celsius: f64,
}

// What the tools that fill the list take. It is checked and then not looked at. (Not a doc comment: that would be
// part of the schema.)
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "its schema is what matters")]
struct Ordering {
    order: Order,
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "its schema is what matters")]
struct Order {
    customer: Customer,
    lines: Vec<Line>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "its schema is what matters")]
struct Customer {
    name: String,
    address: Address,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "its schema is what matters")]
struct Address {
    street: String,
    city: String,
    zip: String,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "its schema is what matters")]
struct Line {
    sku: String,
    quantity: i64,
    price: f64,
}
