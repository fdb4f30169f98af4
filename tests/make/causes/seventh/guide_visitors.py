"""A guide in the gallery: hears a question, looks at the picture in front of the visitor, and answers."""
import torch
from transformers import CLIPVisionConfig, CLIPVisionModel, MistralConfig, MistralForCausalLM, WhisperConfig, WhisperForConditionalGeneration


class Guide:
    def __init__(self, ears="cuda"):
        whisper = WhisperConfig(vocab_size=51_866, d_model=1280, encoder_layers=32, decoder_layers=32, encoder_attention_heads=20,
                                decoder_attention_heads=20, encoder_ffn_dim=5120, decoder_ffn_dim=5120, num_mel_bins=128)
        with torch.device(ears):
            self.ears = WhisperForConditionalGeneration(whisper).eval()
        print("ears", torch.cuda.memory_allocated() >> 20, flush=True)
        clip = CLIPVisionConfig(hidden_size=1664, intermediate_size=8192, num_hidden_layers=32, num_attention_heads=16, image_size=336, patch_size=14)
        with torch.device("cuda"):
            self.eyes = CLIPVisionModel(clip).eval()
        print("eyes", torch.cuda.memory_allocated() >> 20, flush=True)
        mistral = MistralConfig(hidden_size=4096, intermediate_size=14_336, num_hidden_layers=20, num_key_value_heads=8)
        torch.set_default_dtype(torch.bfloat16)
        with torch.device("cuda"):
            self.voice = MistralForCausalLM(mistral).eval()
        torch.set_default_dtype(torch.float32)
        print("voice", torch.cuda.memory_allocated() >> 20, flush=True)

    @torch.inference_mode()
    def answer(self, image):
        seen = self.eyes(pixel_values=image.cuda().to(self.eyes.dtype)).last_hidden_state.shape[1]
        return self.voice(input_ids=torch.zeros(1, seen + 100, dtype=torch.long, device="cuda"), logits_to_keep=1).logits.shape


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(stacks="python")
    try:
        guide = Guide()
        print(guide.answer(torch.empty(1, 3, 336, 336)), torch.cuda.max_memory_allocated() >> 20)
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("guide_visitors.pickle")
        print(error)
        raise SystemExit(1)
