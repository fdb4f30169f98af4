//! The card that asks before files are opened that the user did not choose.

use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub(super) struct AskCardProps {
    pub(super) title: AttrValue,
    pub(super) text: AttrValue,
    /// Gets `true` if the user agrees.
    pub(super) on_answer: Callback<bool>,
}

/// The question, with a button for each answer.
#[component]
pub(super) fn AskCard(props: &AskCardProps) -> Html {
    let answer = |agreed| props.on_answer.reform(move |_: MouseEvent| agreed);
    html! {
        <section class="card" role="alertdialog" aria-labelledby="ask-title" aria-describedby="ask-text">
            <h2 id="ask-title">{ &props.title }</h2>
            <p id="ask-text">{ &props.text }</p>
            <div class="row">
                <span class="grow" />
                <button type="button" class="outlined" onclick={answer(false)}>{ "Cancel" }</button>
                <button type="button" class="primary" onclick={answer(true)}>{ "Open" }</button>
            </div>
        </section>
    }
}
