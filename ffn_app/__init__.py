"""What the pages share: the only code that imports both ffn_core and Streamlit."""
