//! cuDNN's recurrent layers, as called in its version 8 and later: where each weight lies in the buffer they share.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::c::{Invented, OK, handle, invent, put};
use crate::memory::launch;

/// The values set on each descriptor until it is destroyed: a layer's parameters, or the shape of data or of a weight.
static SAID: Mutex<BTreeMap<u64, [i32; 6]>> = Mutex::new(BTreeMap::new());

fn said() -> MutexGuard<'static, BTreeMap<u64, [i32; 6]>> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

fn say(descriptor: u64, numbers: [i32; 6]) -> i32 {
    said().insert(descriptor, numbers);
    OK
}

fn forget(descriptor: u64) -> i32 {
    said().remove(&descriptor);
    OK
}

fn told(descriptor: u64) -> [i32; 6] {
    said().get(&descriptor).copied().unwrap_or_default()
}

/// A stack of recurrent layers.
struct Layers {
    /// Matrices of each pseudo-layer without the projection: half for the input, half for the state.
    matrices: u64,
    directions: u64,
    input: u64,
    hidden: u64,
    projected: u64,
    /// Layers times directions.
    pseudo_layers: u64,
    element_bytes: u64,
}

impl Layers {
    fn of(descriptor: u64) -> Self {
        let [
            mode_and_type,
            is_both_ways,
            input,
            hidden,
            projected,
            layers,
        ] = told(descriptor);
        let directions = 1 + is_both_ways as u64;
        Self {
            // ReLU, tanh, LSTM, GRU.
            matrices: [2, 2, 8, 6][(mode_and_type & 3) as usize],
            directions,
            input: input as u64,
            hidden: hidden as u64,
            projected: projected as u64,
            pseudo_layers: layers as u64 * directions,
            element_bytes: match mode_and_type >> 2 {
                0 => 4,
                1 => 8,
                _ => 2,
            },
        }
    }

    /// Rows and columns of a matrix; the projection comes after the others.
    fn matrix(&self, layer: u64, number: u64) -> [u64; 2] {
        let is_first = layer < self.directions;
        match number {
            _ if number == self.matrices => [self.projected, self.hidden],
            _ if number >= self.matrices / 2 => [self.hidden, self.projected],
            _ if is_first => [self.hidden, self.input],
            _ => [self.hidden, self.projected * self.directions],
        }
    }

    /// Matrices of a pseudo-layer, including the projection.
    fn all_matrices(&self) -> u64 {
        self.matrices + u64::from(self.projected != self.hidden)
    }

    /// Elements before a matrix. The matrices of all layers come first, then the biases.
    fn before(&self, layer: u64, number: u64) -> u64 {
        let elements = |layer, number| self.matrix(layer, number).iter().product::<u64>();
        let whole = (0..layer).map(|layer| {
            (0..self.all_matrices())
                .map(|it| elements(layer, it))
                .sum::<u64>()
        });
        whole.sum::<u64>() + (0..number).map(|it| elements(layer, it)).sum::<u64>()
    }

    fn before_bias(&self, layer: u64, number: u64) -> u64 {
        self.before(self.pseudo_layers, 0) + (layer * self.matrices + number) * self.hidden
    }

    /// Bytes that a forward pass keeps for the backward one: gates and states of each step; the true amount is unknown.
    fn kept_bytes(&self, data: u64) -> u64 {
        let [steps, batch, ..] = told(data);
        let per_step = (self.matrices / 2 + 2) * self.hidden * self.pseudo_layers;
        steps as u64 * batch as u64 * per_step * self.element_bytes
    }
}

/// Where a matrix or a bias lies, and its shape.
unsafe fn weight(
    layers: &Layers,
    base: u64,
    [layer, number]: [u64; 2],
    matrix: (u64, *mut u64),
    bias: (u64, *mut u64),
) -> i32 {
    let [rows, columns] = layers.matrix(layer, number);
    for ((descriptor, to), before, columns) in [
        (matrix, layers.before(layer, number), columns),
        (bias, layers.before_bias(layer, number), 1),
    ] {
        if descriptor != 0 {
            say(descriptor, [1, rows as i32, columns as i32, 0, 0, 0]);
            put(to, base + before * layers.element_bytes);
        }
    }
    OK
}

unsafe fn shape(
    descriptor: u64,
    dimensions: *mut i32,
    sizes: *mut [i32; 3],
    strides: *mut [i32; 3],
) -> i32 {
    let [_, rows, columns, ..] = told(descriptor);
    put(dimensions, 3);
    put(strides, [rows * columns, columns, 1]);
    put(sizes, [1, rows, columns])
}

c! {
    fn cudnnCreateRNNDescriptor(to: *mut u64) = handle(to);
    fn cudnnDestroyRNNDescriptor(descriptor: u64) = forget(descriptor);
    fn cudnnSetRNNDescriptor_v8(to: u64, _algorithm: i32, mode: i32, _bias: i32, direction: i32, _input_mode: i32, kind: i32, _precision: i32, _mathematics: i32, input: i32, hidden: i32, projected: i32, layers: i32) = say(to, [mode & 3 | kind << 2, direction, input, hidden, projected, layers]);
    fn cudnnCreateRNNDataDescriptor(to: *mut u64) = handle(to);
    fn cudnnDestroyRNNDataDescriptor(descriptor: u64) = forget(descriptor);
    fn cudnnSetRNNDataDescriptor(to: u64, _kind: i32, _layout: i32, steps: i32, batch: i32, width: i32) = say(to, [steps, batch, width, 0, 0, 0]);
    fn cudnnDestroyTensorDescriptor(descriptor: u64) = forget(descriptor);
    fn cudnnGetTensorNdDescriptor(descriptor: u64, _wanted: i32, kind: *mut i32, dimensions: *mut i32, sizes: *mut [i32; 3], strides: *mut [i32; 3]) = { put(kind, 0); shape(descriptor, dimensions, sizes, strides) };
    fn cudnnGetRNNWeightSpaceSize(_library: u64, layers: u64, bytes: *mut u64) = {
        let layers = Layers::of(layers);
        put(bytes, layers.before_bias(layers.pseudo_layers, 0) * layers.element_bytes)
    };
    fn cudnnGetRNNWeightParams(_library: u64, layers: u64, layer: i32, _bytes: u64, base: u64, number: i32, matrix: u64, matrix_at: *mut u64, bias: u64, bias_at: *mut u64) = weight(&Layers::of(layers), base, [layer as u64, number as u64], (matrix, matrix_at), (bias, bias_at));
    fn cudnnGetRNNTempSpaceSizes(_library: u64, layers: u64, is_training: i32, data: u64, work_bytes: *mut u64, kept_bytes: *mut u64) = {
        invent(Invented::CudnnReserve);
        put(work_bytes, 0);
        put(kept_bytes, if is_training == 0 { 0 } else { Layers::of(layers).kept_bytes(data) })
    };
    fn cudnnRNNForward() = launch();
    fn cudnnRNNBackwardData_v8() = launch();
    fn cudnnRNNBackwardWeights_v8() = launch();
    fn cudnnRestoreDropoutDescriptor() = OK;
}
