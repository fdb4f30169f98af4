//! A hook that loads a part of the module.

use crate::components::hooks::{use_effect_on, use_kept};
use yew::prelude::*;

use crate::engine::Session;
use crate::parts::{self, Part};

/// Loads a part, if one is given and not there yet. Returns what is to be shown until then; `None` once it is there.
#[hook]
pub(crate) fn use_part(session: &Session, part: Option<Part>) -> Option<Html> {
    let missing = part.filter(|&part| !parts::is_here(part));
    let tries = use_kept(|| 0_u32);
    let failure = use_kept(|| None::<String>);
    let redraw = use_force_update();
    {
        let (session, failure) = (session.clone(), failure.clone());
        use_effect_on((missing, *tries), move |(missing, _)| {
            if let Some(part) = *missing {
                session.load(part, move |loaded| match loaded {
                    Ok(()) => redraw.force_update(),
                    Err(words) => failure.set(Some(words)),
                });
            }
        });
    }
    missing?;
    let Some(words) = (*failure).clone() else {
        return Some(html! { <p class="middle muted" role="status">{ "Loading…" }</p> });
    };
    let again = Callback::from(move |_: MouseEvent| {
        failure.set(None);
        tries.set(*tries + 1);
    });
    Some(html! {
        <div class="middle">
            <section class="card failed" role="alert">
                <h2>{ "This part of the page could not be loaded" }</h2>
                <p class="what">{ words }</p>
                <p>{ "Its server does not answer, or has a newer version by now. What is open stays open; after a new version, load the page again." }</p>
                <div class="row"><span class="grow" /><button type="button" class="primary" onclick={again}>{ "Try again" }</button></div>
            </section>
        </div>
    })
}
