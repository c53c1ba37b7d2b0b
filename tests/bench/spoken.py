"""Texts that rows 19 and 20 let the gateway speak. They were written for this, to compare the transcripts with them."""

VOICES = ("slt", "rms", "awb")

# The text has no numbers and names, because their spelling does not show the quality of recognition.
STORY = (
    "The old mill stands at the bend of the river. For a long time nobody had worked in it. Then a young woman bought the house "
    "and the land around it. She wanted to make flour again, as people had done there for many years. The wheel was broken, and "
    "the roof let in the rain. In the first summer she repaired the roof. In the second summer she built a new wheel out of oak. "
    "Her neighbours came to help when the hay was in. They carried stones, cut wood and told stories until the sun went down. "
    "One of them had worked in the mill when he was a boy. He knew how the water should run and how the stones had to be set. "
    "In the third year the wheel turned for the first time. The whole village stood by the river and watched. The first bread was "
    "eaten on the same evening. It was a little hard and a little dark, but nobody minded. Today the mill works every day when "
    "there is enough water. Children come from the school to see how bread begins. They like the noise of the stones and the "
    "smell of the fresh flour. When they go home, each of them gets a small bag."
)

FIRST_BYTE = "The old mill stands at the bend of the river. For a long time nobody had worked in it."
