//! The root component: says hello to the worker and shows its answer.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use yew::prelude::*;

/// What the root component needs from `www/page.js`.
#[derive(Properties, PartialEq)]
struct AppProps {
    worker: web_sys::Worker,
}

/// Renders the page into the document's body.
pub(crate) fn mount(worker: web_sys::Worker) {
    yew::Renderer::<App>::with_props(AppProps { worker }).render();
}

#[component]
fn App(props: &AppProps) -> Html {
    let answer = use_state_eq(String::new);
    {
        let answer = answer.clone();
        use_effect_with(props.worker.clone(), move |worker| {
            let port = worker.clone();
            let on_message = Closure::<dyn FnMut(_)>::new(move |event: web_sys::MessageEvent| {
                let text = event.data().as_string().unwrap_or_default();
                // The worker listens only from its "ready" on; what is sent earlier can be lost.
                if text == "ready" {
                    let _ = port.post_message(&"hello".into());
                } else {
                    answer.set(text);
                }
            });
            worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
            let worker = worker.clone();
            move || {
                worker.set_onmessage(None);
                drop(on_message);
            }
        });
    }
    html! {
        <main>
            <h1>{ "vramscope" }</h1>
            <p id="worker-answer">{ (*answer).clone() }</p>
        </main>
    }
}
