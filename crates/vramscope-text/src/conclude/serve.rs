//! Causes of failures of vLLM and SGLang that result from their own calculations.

use vramscope_core::analysis::report::findings::{Verdict, sentences};
use vramscope_core::units::Bytes;

use super::{Cause, Class, Sure};
use crate::record::Failure;

pub(super) fn vllm_cache() -> Cause {
    Cause {
        seen: "vLLM may take the share of the device that --gpu-memory-utilization names. Weights and activations used it up \
               before the KV cache got any: the share is too small, or the model too large for it."
            .to_owned(),
        to_try: vec![
            "Raise --gpu-memory-utilization, if nothing else needs the device; lower --max-num-batched-tokens and --max-num-seqs, which \
             activations grow with; or use more GPUs (--tensor-parallel-size) or a quantized model."
                .to_owned(),
        ],
        ..no_cache("vLLM")
    }
}

pub(super) fn sglang_cache() -> Cause {
    Cause {
        seen: "SGLang may take the share of the device that --mem-fraction-static names, for weights and KV cache. Nothing of it was left \
               for the cache: the share is too small, or the model too large for it."
            .to_owned(),
        to_try: vec![
            "Raise --mem-fraction-static, if nothing else needs the device (lower it only where SGLang runs out while it serves); or use \
             more GPUs (--tp) or a quantized model."
                .to_owned(),
        ],
        ..no_cache("SGLang")
    }
}

pub(super) fn sglang_pool(failure: &Failure) -> Cause {
    Cause {
        seen: "SGLang divides the memory that it may use when it starts, and serves within that. The device's memory did not run out."
            .to_owned(),
        to_try: vec![
            "Lower --max-running-requests, so that fewer requests share the cache; or give it more: a higher --mem-fraction-static if \
             nothing else needs the device, --kv-cache-dtype fp8_e5m2, more GPUs (--tp)."
                .to_owned(),
        ],
        ..Cause::new(Class::Limit, Sure::Certain, Verdict::Limit, failure.words.clone()).said()
    }
}

pub(super) fn sglang_slots(failure: &Failure) -> Cause {
    Cause {
        seen: "SGLang sets its slots aside when it starts. The device's memory did not run out."
            .to_owned(),
        to_try: vec!["A smaller --max-running-requests, as the message says.".to_owned()],
        ..Cause::new(
            Class::Limit,
            Sure::Likely,
            Verdict::Limit,
            failure.words.clone(),
        )
    }
}

/// SGLang gives out its cache by pages: tokens may be free, but no page. Some of its versions also counted wrongly.
pub(super) fn sglang_pages(failure: &Failure) -> Cause {
    Cause {
        to_try: vec![
            "Lower --max-running-requests, or use a smaller --page-size; look for the message among SGLang's issues, since some versions \
             counted wrongly."
                .to_owned(),
        ],
        ..Cause::unknown(
            &failure.words,
            "SGLang gives out its cache by whole pages, so tokens may be free where no page is. The device's memory did not run out.",
        )
    }
}

fn no_cache(server: &str) -> Cause {
    let title = format!("Nothing of the share that {server} may use was left for the KV cache");
    Cause::new(Class::Limit, Sure::Possible, Verdict::Limit, title)
}

/// vLLM: more is free after its first run than before, though it has loaded its model in between.
pub(super) fn profile(failure: &Failure) -> Cause {
    Cause {
        seen: "vLLM loads its model in between, so less should be free afterwards: something else gave memory back at that time, and vLLM \
               could not tell what it needs itself."
            .to_owned(),
        to_try: vec![
            "Start it when nothing else on the device starts or ends: several vLLM one after the other, and after an earlier one has ended \
             entirely."
                .to_owned(),
        ],
        ..Cause::new(
            Class::OtherProcesses,
            Sure::Likely,
            Verdict::Others,
            failure.words.clone(),
        )
    }
}

/// vLLM: a single request of full length needs more cache than there is.
pub(super) fn length(failure: &Failure) -> Cause {
    let title = match (&failure.requested, &failure.allowed) {
        (Some(needed), Some(left)) => format!(
            "One request of full length needs {} of KV cache, and {} were left for it",
            Bytes(needed.bytes),
            Bytes(left.bytes)
        ),
        // Older versions count tokens.
        _ => failure.words.clone(),
    };
    Cause {
        seen: "This is vLLM's own arithmetic before it serves; nothing was allocated in vain.".to_owned(),
        to_try: vec![
            "Lower --max-model-len to what you need, or give the cache more room: more GPUs (--tensor-parallel-size), a higher \
             --gpu-memory-utilization, --kv-cache-dtype fp8."
                .to_owned(),
        ],
        ..Cause::new(
            Class::RequestTooLarge,
            Sure::Certain,
            Verdict::RequestTooLarge,
            title,
        )
    }
}

/// vLLM: less is free at the start than it is configured to take.
pub(super) fn start(failure: &Failure) -> Vec<Cause> {
    let (Some(total), Some(free)) = (&failure.total, &failure.free) else {
        return Vec::new();
    };
    let held = total.bytes.saturating_sub(free.bytes);
    let wanted = failure.requested.as_ref().map_or(0, |figure| figure.bytes);
    // The process's own context takes some.
    let is_little = held < total.bytes / 8;
    let (class, sure, verdict, title) = match is_little {
        true => (
            // It may also be its share that is set too high.
            Class::Limit,
            Sure::Possible,
            Verdict::Limit,
            format!(
                "vLLM is set to take {} more than the {} that are free",
                Bytes(wanted.saturating_sub(free.bytes)),
                Bytes(free.bytes)
            ),
        ),
        false => (
            Class::OtherProcesses,
            Sure::Likely,
            Verdict::Others,
            sentences::others("held", Bytes(held)),
        ),
    };
    let seen = format!(
        "Before vLLM loaded anything, {} of {} were free.",
        Bytes(free.bytes),
        Bytes(total.bytes)
    );
    let hundredths = u128::from(free.bytes) * 100 / u128::from(total.bytes.max(1));
    let hundredths = hundredths.min(99);
    let mut to_try = vec![format!(
        "End what else is on the device (an earlier vLLM that did not end well stays there), or lower --gpu-memory-utilization to \
         the share that is free: 0.{hundredths:02}."
    )];
    if !is_little {
        to_try.extend(verdict.to_try().first().map(|&text| text.to_owned()));
    }
    vec![Cause {
        seen,
        to_try,
        ..Cause::new(class, sure, verdict, title)
    }]
}
