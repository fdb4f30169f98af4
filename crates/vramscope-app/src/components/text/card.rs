//! The card of a failure: what holds the device, the cause and how sure it is, what to change, and what would tell more.

use vramscope_protocol::views::text::{BarOf, BarPart, BufferRow, Card, FigureRow};
use vramscope_view::display;
use yew::prelude::*;

use crate::components::copy_button::CopyButton;
use crate::components::icons::{Glyph, Icon};
use crate::components::site_label::{SiteColours, site_label};
use crate::state::sentences;

pub(super) fn failure_card(card: &Card, colours: &SiteColours) -> Html {
    let next = |(line, tells): &(String, String)| {
        html! {
            <li>
                <p class="conf"><code>{ line }</code><CopyButton text={line.clone()} what="command" /></p>
                <p class="muted">{ tells }</p>
            </li>
        }
    };
    html! {
        <article class="told" aria-labelledby="told-title">
            <p class="muted">{ place(card) }</p>
            <h2 id="told-title"><Glyph icon={Icon::Warning} /><span>{ &card.title }</span></h2>
            <p class="sure"><b>{ &card.why }</b><span class={classes!("how-sure", card.is_certain.then_some("certain"))}>{ &card.how_sure }</span></p>
            { device_bar(&card.bar) }
            if !card.seen.is_empty() { <p>{ &card.seen }</p> }
            { processes(card) }
            if !card.to_try.is_empty() {
                <h3>{ "What to change" }</h3>
                <ul class="try">{ for card.to_try.iter().map(|text| html! { <li>{ text }</li> }) }</ul>
            }
            { buffers(&card.buffers, colours) }
            if !card.next.is_empty() {
                <h3>{ "What tells more" }</h3>
                <ul class="next">{ for card.next.iter().map(next) }</ul>
            }
            { also(card) }
            { figures(&card.figures) }
        </article>
    }
}

/// Where the failure stands, and who told it.
fn place(card: &Card) -> String {
    let line = format!("line {}", display::count(card.line));
    let times = match card.times {
        0 | 1 => String::new(),
        times => format!("{} times", display::count(times)),
    };
    let parts = [&line, &times, &card.from, &card.framework, &card.place];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.cloned().collect::<Vec<_>>().join(" · ")
}

/// The style class of a part.
fn class(of: BarOf) -> &'static str {
    match of {
        BarOf::Others => "others",
        BarOf::Context => "context",
        BarOf::Live => "live",
        BarOf::Pools => "pools",
        BarOf::Reserved => "reserved",
        BarOf::Free => "free",
        BarOf::Requested => "requested",
    }
}

/// The device as a bar, the request below it on the same scale, and both in figures.
fn device_bar(bar: &[BarPart]) -> Html {
    if bar.is_empty() {
        return Html::default();
    }
    let (requested, device): (Vec<_>, Vec<_>) =
        bar.iter().partition(|part| part.of == BarOf::Requested);
    let part = |part: &&BarPart| {
        let title = format!("{}: {}", part.name, sentences::exact_bytes(part.bytes));
        html! {
            <span class={classes!("share", class(part.of))} {title} style={format!("width:{:.4}%", part.share * 100.0)} />
        }
    };
    let entry = |part: &BarPart| {
        let off = match part.off_bytes {
            0 => String::new(),
            off => format!("± {}", display::bytes(off)),
        };
        html! {
            <li>
                <i class={classes!("share", class(part.of))} aria-hidden="true" />
                <span>{ &part.name }</span>
                <b class="number" title={sentences::exact_bytes(part.bytes)}>{ display::bytes(part.bytes) }</b>
                <span class="muted">{ off }</span>
            </li>
        }
    };
    html! {
        <div class="device-bar">
            // The list below says the same.
            <div aria-hidden="true">
                <div class="shares">{ for device.iter().map(part) }</div>
                if !requested.is_empty() { <div class="shares asked">{ for requested.iter().map(part) }</div> }
            </div>
            <ul aria-label="What holds the device">{ for bar.iter().map(entry) }</ul>
        </div>
    }
}

fn processes(card: &Card) -> Html {
    if card.processes.is_empty() {
        return Html::default();
    }
    let process = |(pid, held): &(u64, u64)| {
        html! { <li>{ format!("Process {pid} held {}", display::bytes(*held)) }</li> }
    };
    html! {
        <details>
            <summary>{ "Processes on the device" }</summary>
            <ul class="try">{ for card.processes.iter().map(process) }</ul>
        </details>
    }
}

/// The largest buffers of a program of XLA, as the allocations of a snapshot are listed.
fn buffers(buffers: &[BufferRow], colours: &SiteColours) -> Html {
    if buffers.is_empty() {
        return Html::default();
    }
    let row = |row: &BufferRow| {
        let title = format!(
            "{} · {} · {} · {}",
            row.place,
            row.operator,
            row.shape,
            sentences::exact_bytes(row.bytes)
        );
        let place = Some(row.place.as_str()).filter(|place| !place.is_empty());
        html! {
            <li {title}>
                <span class="fill" style={format!("width:{:.3}%", row.share * 100.0)} />
                <span class="swatch" style={colours.swatch(place)} aria-hidden="true" />
                <span class="grow label">{ site_label(place.unwrap_or("no line told")) }</span>
                <span class="muted remark">{ &row.operator }{ " " }{ &row.shape }</span>
                <span class="number bytes">{ display::bytes(row.bytes) }</span>
            </li>
        }
    };
    html! {
        <>
            <h3>{ "Largest buffers" }</h3>
            <ul class="rows">{ for buffers.iter().map(row) }</ul>
        </>
    }
}

fn also(card: &Card) -> Html {
    if card.also.is_empty() {
        return Html::default();
    }
    html! {
        <>
            <h3>{ "Other causes" }</h3>
            <ul class="try">
                { for card.also.iter().map(|also| html! {
                    <li><b>{ &also.why }</b>{ " (" }{ &also.how_sure }{ "). " }{ &also.explanation }</li>
                }) }
            </ul>
        </>
    }
}

/// The sizes of the message.
fn figures(figures: &[FigureRow]) -> Html {
    if figures.is_empty() {
        return Html::default();
    }
    let row = |row: &FigureRow| {
        html! {
            <tr>
                <th scope="row">{ &row.label }</th>
                <td title={sentences::exact_bytes(row.bytes)}>{ display::bytes(row.bytes) }</td>
                <td class="muted remark">{ &row.remark }</td>
            </tr>
        }
    };
    html! {
        <details>
            <summary>{ "Figures of the message" }</summary>
            <div class="wide" data-scrolls="" tabindex="0" role="region" aria-label="Figures of the message">
                <table><tbody>{ for figures.iter().map(row) }</tbody></table>
            </div>
        </details>
    }
}
